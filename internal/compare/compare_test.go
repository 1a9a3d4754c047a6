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

// A GPU in only one of the two has a row for each of its values, and one that was not read has no rows.
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

// What only some boards have is compared under the name of its sensor.
func TestSensorsAndBus(t *testing.T) {
	t.Parallel()
	values := func(rpm int64, celsius, volts float64, naks int64) Values {
		return Of(device1(300, func(d *gpu.Device) {
			d.Fans = []gpu.Fan{{Location: "fan0", Speed: gpu.Some(rpm)}}
			d.TemperatureDetail = []gpu.SensorValue{{Location: "hbm1", Value: gpu.Some(celsius)}}
			d.Voltage = []gpu.SensorValue{{Location: "gfx", Value: gpu.Some(volts)}}
			d.PCIe.NAKsTransmitted = gpu.Total(naks)
			d.XCCUtilization = []gpu.Opt[float64]{{}, gpu.Some(volts / 2)}
			d.RetiredPages.Bad = gpu.Some(naks)
		}))
	}
	ours := values(1000, 50, 0.8, 7)
	near, far := Nodes(ours, values(1199, 52, 0.84, 8), ours), Nodes(ours, values(1301, 54, 0.95, 9), ours)
	for quantity, change := range map[string]Verdict{
		"fan, fan0, speed": Differs, "temperature, hbm1": Differs, "voltage, gfx": Differs, "PCIe NAKs, sent": Differs, "utilization, XCC 1": Same,
	} {
		assert.Equal(t, Same, row(t, near, quantity).Verdict, quantity)
		assert.Equal(t, change, row(t, far, quantity).Verdict, quantity)
	}
	assert.Equal(t, Differs, row(t, near, "bad pages").Verdict)
}
