// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// byAttribute returns the values of a metric's points by one of their attributes.
func byAttribute(points []otlptest.Point, metric, attribute string) map[any]float64 {
	got := map[any]float64{}
	for _, p := range otlptest.Of(points, metric) {
		got[p.Attributes[attribute]] = p.Value
	}
	return got
}

// A state or a condition that is over is 0 from then on, and one that never was has no point.
func TestFabricChanges(t *testing.T) {
	r := newRecorder(everything())
	read := func(f gpu.Fabric) (states, conditions map[any]float64) {
		points := otlptest.Points(r.Record(&gpu.Node{Time: readAt, Devices: []gpu.Device{{ID: gpuID, Fabric: f}}}))
		return byAttribute(points, "hw.gpu.fabric.state", "hw.gpu.fabric.state"), byAttribute(points, "hw.gpu.fabric.condition", "hw.gpu.fabric.condition")
	}
	fabric := func(state gpu.FabricState, degraded bool) gpu.Fabric {
		f := gpu.Fabric{State: gpu.Some(state)}
		f.Conditions[gpu.FabricDegradedBandwidth], f.Conditions[gpu.FabricRouteUnhealthy] = gpu.Some(degraded), gpu.Some(false)
		return f
	}
	states, conditions := read(fabric(gpu.FabricInProgress, false))
	assert.Equal(t, map[any]float64{"in_progress": 1}, states)
	assert.Empty(t, conditions)
	states, conditions = read(fabric(gpu.FabricCompleted, true))
	assert.Equal(t, map[any]float64{"in_progress": 0, "completed": 1}, states)
	assert.Equal(t, map[any]float64{"degraded_bandwidth": 1}, conditions)
	_, conditions = read(fabric(gpu.FabricCompleted, false))
	assert.Equal(t, map[any]float64{"degraded_bandwidth": 0}, conditions)
	states, conditions = read(gpu.Fabric{})
	assert.Empty(t, states, "it could not be read")
	assert.Empty(t, conditions, "it could not be read")
}

func TestLinkCount(t *testing.T) {
	count := func(links ...gpu.Link) map[any]float64 {
		d := gpu.Device{ID: gpuID, Interconnect: gpu.Interconnect{Type: gpu.XGMI, Links: links}}
		return byAttribute(recordAll(&gpu.Node{Time: readAt, Devices: []gpu.Device{d}}), "hw.gpu.interconnect.link.count", "hw.gpu.interconnect.link_state")
	}
	up, down := gpu.Link{Name: "0", Up: gpu.Some(true)}, gpu.Link{Name: "1", Up: gpu.Some(false)}
	assert.Equal(t, map[any]float64{"up": 2, "down": 1}, count(up, down, up))
	assert.Equal(t, map[any]float64{"up": 0, "down": 1}, count(down, gpu.Link{Name: "2"}))
	assert.Empty(t, count(gpu.Link{Name: "2"}), "no state is known")
}

// The kernel's counts go on when the driver's start again.
func TestPCIeErrorsOutliveTheDriver(t *testing.T) {
	r := newRecorder(everything())
	start := func(i int, epoch uint64) map[string]any {
		d := gpu.Device{ID: gpuID, Epoch: epoch, Energy: gpu.Total(1.0)}
		d.PCIe.Errors[gpu.PCIeGPU][gpu.PCIeFatal] = gpu.Total[int64](3)
		points := otlptest.Points(r.Record(&gpu.Node{Time: timeAt(i), Devices: []gpu.Device{d}}))
		starts := map[string]any{}
		for _, name := range []string{"hw.gpu.pcie.errors", "hw.energy"} {
			selected := otlptest.Of(points, name)
			require.Len(t, selected, 1)
			starts[name] = selected[0].Start.AsTime()
		}
		return starts
	}
	start(0, 1)
	assert.Equal(t, map[string]any{"hw.gpu.pcie.errors": timeAt(0).UTC(), "hw.energy": timeAt(30).UTC()}, start(30, 2))
}

// A state event says what to do about each fault that comes from a reading.
func TestActionsForFaultsOfReadings(t *testing.T) {
	for fault, want := range map[gpu.FaultType]string{
		gpu.FaultFabric: "check_fabric", gpu.FaultSRAMThreshold: "replace_gpu", gpu.FaultBadPageThreshold: "replace_gpu",
	} {
		action, advice := statusAction(&gpu.Event{Type: gpu.EventStatus, Faults: []gpu.FaultType{gpu.FaultRemapPending, fault}})
		assert.Equal(t, want, action)
		assert.NotEmpty(t, advice)
	}
}
