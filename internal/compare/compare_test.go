// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func device1(power float64, change func(*gpu.Device)) *gpu.Node {
	d := gpu.Device{ID: "GPU-1", Model: "H100", Power: gpu.Power{Draw: gpu.Some(power)}}
	if change != nil {
		change(&d)
	}
	return &gpu.Node{Devices: []gpu.Device{d}, Processes: []gpu.Process{{PID: 7, DeviceID: "GPU-1", Memory: gpu.Some[int64](1 << 30)}}}
}

func row(t *testing.T, rows []Row, quantity string) Row {
	t.Helper()
	for _, r := range rows {
		if r.Quantity == quantity {
			return r
		}
	}
	require.Fail(t, "no such row", quantity)
	return Row{}
}

func TestVerdicts(t *testing.T) {
	before := Of(device1(300, func(d *gpu.Device) { d.Energy = gpu.Total(5000.0) }))
	after := Of(device1(400, func(d *gpu.Device) { d.Energy = gpu.Total(5400.0) }))
	for power, want := range map[float64]Verdict{259: Differs, 261: Same, 350: Same, 439: Same, 441: Differs} {
		rows := Nodes(before, Of(device1(power, func(d *gpu.Device) {
			d.Model = "H200"
			d.Fans = []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(.5)}}
		})), after)
		got := row(t, rows, "power")
		assert.Equal(t, want, got.Verdict, power)
		assert.InDelta(t, 40, got.Tolerance, 1e-9)
		assert.Equal(t, Row{Device: "GPU-1", Quantity: "model", Before: "H100", Tool: "H200", After: "H100", Verdict: Differs}, row(t, rows, "model"))
		assert.Equal(t, OnlyTool, row(t, rows, "fan, fan0").Verdict)
		assert.Equal(t, OnlyOurs, row(t, rows, "energy").Verdict)
		assert.Equal(t, Same, row(t, rows, "process 7, memory").Verdict)
		assert.Equal(t, 1, Count(rows, OnlyOurs))
	}
}

// A GPU that only one of them has is a row for each of its values, and one that was not read has none.
func TestMissingDevices(t *testing.T) {
	none := Of(&gpu.Node{Devices: []gpu.Device{{ID: "GPU-1", Unread: true}}})
	rows := Nodes(none, Of(device1(300, nil)), none)
	assert.Equal(t, len(rows), Count(rows, OnlyTool))
	assert.Len(t, rows, 3)
	assert.Empty(t, Nodes(none, none, none))
}

// A property that changes between our reads may have either value.
func TestMovingProperty(t *testing.T) {
	throttled := func(active bool) Values {
		return Of(device1(300, func(d *gpu.Device) { d.Throttle[gpu.ThrottleHWThermal].Active = gpu.Some(active) }))
	}
	rows := Nodes(throttled(false), throttled(true), throttled(true))
	assert.Equal(t, Same, row(t, rows, "throttled, hardware thermal").Verdict)
	rows = Nodes(throttled(false), throttled(true), throttled(false))
	assert.Equal(t, Differs, row(t, rows, "throttled, hardware thermal").Verdict)
}
