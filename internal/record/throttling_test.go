// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func throttleEvents() []gpu.Event {
	started := gpu.Event{
		UID: "t1", Type: gpu.EventThrottledStarted, Time: timeAt(10), DeviceID: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA,
		Throttle: []gpu.ThrottleReason{gpu.ThrottleHWSlowdown, gpu.ThrottleHWThermal}, Lasted: gpu.Some(time.Minute),
		Holders: []*gpu.Container{{Name: "main", Namespace: "team", PodName: "train-0"}}, Users: []*gpu.Container{},
	}
	ended := started
	ended.UID, ended.Type, ended.Time, ended.Lasted, ended.LastSeen = "t2", gpu.EventThrottledEnded, timeAt(730), gpu.Some(12*time.Minute), timeAt(700)
	brake := gpu.Event{
		UID: "t3", Type: gpu.EventThrottledStarted, Time: timeAt(11), DeviceID: amdID, Vendor: gpu.AMD,
		Throttle: []gpu.ThrottleReason{gpu.ThrottleHWPowerBrake, gpu.ThrottleThermalVR},
	}
	return []gpu.Event{started, ended, brake}
}

func TestGoldenThrottleEvents(t *testing.T) {
	host := fullNode().Host
	compareLogs(t, "throttle_events.yaml", newEvents(nil).Record(&host, throttleEvents(), observed))
}

func TestThrottleRecords(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	records := recordsOf(newEvents(nil).Record(&host, throttleEvents(), observed))
	assert.Equal(t, "nvidia0 (NVIDIA H100 80GB HBM3) has been throttled for 1m0s: hw_slowdown, hw_thermal_slowdown; check the fans, the air flow and the coolant",
		records[0].Body().Str())
	assert.Equal(t, plog.SeverityNumberWarn, records[0].SeverityNumber())
	assert.Equal(t, "nvidia0 (NVIDIA H100 80GB HBM3) is not throttled any more, after 12m0s: hw_slowdown, hw_thermal_slowdown", records[1].Body().Str())
	assert.Equal(t, plog.SeverityNumberInfo, records[1].SeverityNumber())
	assert.Equal(t, map[string]any{
		"log.record.uid": "t2", "hw.id": gpuID, "hw.name": "nvidia0", "hw.model": "NVIDIA H100 80GB HBM3", "hw.vendor": "NVIDIA",
		"hw.gpu.throttle.reasons": []any{"hw_slowdown", "hw_thermal_slowdown"}, "hw.gpu.throttle.duration": 720.0,
		"hw.gpu.event.last_seen_time": iso8601(timeAt(700)),
		"hw.gpu.held_by":              []any{"team/train-0/main"}, "hw.gpu.used_by": []any{},
		"k8s.container.name": "main", "k8s.namespace.name": "team", "k8s.pod.name": "train-0",
	}, records[1].Attributes().AsRaw())
	assert.Equal(t, amdID+" is throttled: hw_power_brake_slowdown, thermal_vr; check the power supply", records[2].Body().Str())
}
