// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// TestStatesEnd: a fault and a recovery action that are over are 0 for as long as the device is there, and have no point while it could
// not be read.
func TestStatesEnd(t *testing.T) {
	r := newRecorder(everything())
	record := func(devices ...gpu.Device) map[string]float64 {
		got := map[string]float64{}
		for _, p := range otlptest.Points(r.Record(&gpu.Node{Time: readAt, Devices: devices})) {
			switch p.Metric {
			case "hw.gpu.fault":
				got[p.Attributes["error.type"].(string)] = p.Value
			case "hw.gpu.recovery.action":
				got[p.Attributes["hw.gpu.recovery.action"].(string)] = p.Value
			}
		}
		return got
	}
	device := func(action gpu.Opt[gpu.RecoveryAction], faults ...gpu.FaultType) gpu.Device {
		d := gpu.Device{ID: gpuID, RecoveryAction: action}
		for _, f := range faults {
			d.Faults = append(d.Faults, gpu.Fault{Type: f})
		}
		return d
	}
	reset, none, unknown := gpu.Some(gpu.RecoveryReset), gpu.Some(gpu.RecoveryNone), gpu.Opt[gpu.RecoveryAction]{}

	assert.Equal(t, map[string]float64{"none": 1}, record(device(none)))
	assert.Equal(t, map[string]float64{"none": 0, "reset": 1, "drain": 1}, record(device(reset, gpu.FaultDrain)))
	assert.Equal(t, map[string]float64{"none": 0, "reset": 1, "drain": 0, "lost": 1}, record(device(reset, gpu.FaultLost)))
	assert.Empty(t, record(gpu.Device{ID: gpuID, Unread: true}), "the device could not be read")
	assert.Equal(t, map[string]float64{"drain": 0, "lost": 0}, record(device(unknown)), "the action could not be read")
	assert.Equal(t, map[string]float64{"none": 1, "reset": 0, "drain": 0, "lost": 0}, record(device(none)))
	assert.Empty(t, record(), "the device is gone")
	assert.Equal(t, map[string]float64{"none": 1}, record(device(none)), "another life")
}

// TestActionsAreBounded: a driver that names another action at each read does not make ever more series.
func TestActionsAreBounded(t *testing.T) {
	r := newRecorder(everything())
	for i := range 3 * maxActions {
		d := gpu.Device{ID: gpuID, RecoveryAction: gpu.Some(gpu.RecoveryOther), RecoveryWord: fmt.Sprint("action ", i)}
		points := otlptest.Of(otlptest.Points(r.Record(&gpu.Node{Time: readAt, Devices: []gpu.Device{d}})), "hw.gpu.recovery.action")
		assert.LessOrEqual(t, len(points), maxActions)
		assert.InDelta(t, 1, points[len(points)-1].Value, 0)
	}
}

// TestFailedReadForgetsNothing: after a read that failed as a whole a process has the same series, and past faults are 0.
func TestFailedReadForgetsNothing(t *testing.T) {
	r := newRecorder(everything())
	record := func(node *gpu.Node) map[string]bool {
		node.Time, node.Source = readAt, "nvml"
		got := map[string]bool{}
		points := otlptest.Points(r.Record(node))
		for i := range points {
			if p := &points[i]; p.Metric == "hw.gpu.fault" || p.Metric == "process.gpu.info" {
				got[p.Stream()] = true
			}
		}
		return got
	}
	node := func(name string, faults ...gpu.Fault) *gpu.Node {
		return &gpu.Node{
			Devices:   []gpu.Device{{ID: gpuID, Faults: faults}},
			Processes: []gpu.Process{{PID: 41, DeviceID: gpuID, Executable: name}},
		}
	}
	before := record(node("first", gpu.Fault{Type: gpu.FaultDrain}))
	assert.Len(t, before, 2)
	assert.Empty(t, record(&gpu.Node{Failure: &gpu.Failure{Reason: gpu.FailureToolMissing}}))
	assert.Equal(t, before, record(node("renamed")))
}
