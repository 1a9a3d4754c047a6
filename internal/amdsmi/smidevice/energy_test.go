// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// observation is the value of a counter and the total that follows.
type observation struct {
	after time.Duration // the reading before
	shown float64
	watts float64 // the power limit; 0: unknown
	total float64
	again bool // counting starts again here
}

func TestEnergyCounter(t *testing.T) {
	t.Parallel()
	const (
		fine  = 65536.905
		rough = 65713.0
		step  = 30 * time.Second
	)
	for _, tt := range []struct {
		name     string
		readings []observation
	}{
		{"wraps", []observation{
			{shown: 65000.1, watts: 300, total: 65000.1},
			{after: step, shown: 8463.9, watts: 300, total: fine + 8463.9},
			{after: step, shown: 17463.9, watts: 300, total: fine + 17463.9},
			{after: 2 * time.Minute, shown: 60000, watts: 300, total: fine + 60000},
			{after: step, shown: 2000, watts: 300, total: 2*fine + 2000},
		}},
		{"wraps, in a larger unit", []observation{
			{shown: 65600.5, watts: 300, total: 65600.5},
			{after: step, shown: 3.25, watts: 300, total: rough + 3.25},
			{after: time.Minute, shown: 20000, watts: 300, total: rough + 20000},
		}},
		{"wraps, the power limit is unknown", []observation{
			{shown: 65000.1, total: 65000.1},
			{after: step, shown: 8463.9, total: fine + 8463.9},
			{after: time.Minute, shown: 20000, total: 0, again: true},
		}},
		{"the power limit is known now and then", []observation{
			{shown: 60000, watts: 300, total: 60000},
			{after: time.Minute, shown: 9000, total: fine + 9000},
		}},
		{"a cap of nothing is none", []observation{
			{shown: 65000.1, watts: -1, total: 65000.1},
			{after: step, shown: 8463.9, watts: -1, total: fine + 8463.9},
		}},
		{"so long that it may have wrapped unseen", []observation{
			{shown: 1000, watts: 300, total: 1000},
			{after: 3 * time.Minute, shown: 9000, watts: 300, total: 0, again: true},
			{after: step, shown: 12000, watts: 300, total: 3000},
			{after: step, shown: 100, watts: 1200, total: fine - 9000 + 100},
		}},
		{"falls by more than the board can have drawn", []observation{
			{shown: 40000, watts: 300, total: 40000},
			{after: step, shown: 50, watts: 300, total: 0, again: true},
			{after: step, shown: 550, watts: 300, total: 500},
		}},
		{"64 bits", []observation{
			{shown: 60000, watts: 750, total: 60000},
			{after: step, shown: 70000, watts: 750, total: 70000},
			{after: time.Hour, shown: 900000, watts: 750, total: 900000},
			{after: step, shown: 12, watts: 750, total: 12},
			{after: step, shown: 300, watts: 750, total: 300},
		}},
		{"64 bits, between the units' ends", []observation{
			{shown: 900000, watts: 750, total: 900000},
			{after: step, shown: 65600, watts: 750, total: 65600},
			{after: step, shown: 10, watts: 750, total: rough + 10},
		}},
		{"stands still", []observation{
			{shown: 60000, watts: 300, total: 60000},
			{after: step, shown: 60000, watts: 300, total: 60000},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := make(EnergyCounters)
			now, since := smitest.Start, time.Time{}
			for i, r := range tt.readings {
				now = now.Add(r.after)
				if r.again {
					since = now
				}
				d := gpu.Device{ID: "000000000000000c", Info: gpu.Info{PCIAddress: "0000:03:00.0", ComputeCapability: "gfx90a"}, Energy: gpu.Total(r.shown)}
				if r.watts != 0 {
					d.Power.Limit[gpu.LimitEnforced] = gpu.Some(r.watts)
				}
				devices := []gpu.Device{d}
				m.Unwrap(devices, now)
				total, ok := devices[0].Energy.Get()
				require.Equal(t, !r.again, ok, "observation %d", i)
				if r.again {
					continue
				}
				require.InDelta(t, r.total, total, 0.01, "observation %d", i)
				require.Equal(t, since, devices[0].Energy.Since(), "observation %d", i)
			}
		})
	}
}

func TestEnergyCountersOfSeveralGPUs(t *testing.T) {
	t.Parallel()
	m := make(EnergyCounters)
	readTime := smitest.Start
	energyOf := func(id, place string, joules float64) float64 {
		readTime = readTime.Add(time.Second)
		d := []gpu.Device{{ID: id, Info: gpu.Info{PCIAddress: place, ComputeCapability: "gfx90a"}, Energy: gpu.Total(joules)}, {ID: id + "/0"}}
		m.Unwrap(d, readTime)
		assert.False(t, d[1].Energy.Known())
		total, _ := d[0].Energy.Get()
		return total
	}
	assert.InDelta(t, 65500, energyOf("c", "0000:03:00.0", 65500), 1e-6)
	assert.InDelta(t, 10, energyOf("d", "0000:04:00.0", 10), 1e-6)
	assert.InDelta(t, 65536.9+20, energyOf("", "0000:03:00.0", 20), 0.01, "the same")
	assert.InDelta(t, 65536.9+30, energyOf("c", "0000:03:00.0", 30), 0.01, "the same")
	assert.InDelta(t, 40, energyOf("e", "0000:03:00.0", 40), 1e-6, "another GPU at that address")
	assert.InDelta(t, 65500, energyOf("f", "", 65500), 1e-6)
	assert.InDelta(t, 65536.9+3, energyOf("f", "", 3), 0.01, "without an address")
	for i := range 2 * MaxDevices {
		energyOf(strconv.Itoa(i), "", 1)
	}
	assert.LessOrEqual(t, len(m), MaxDevices+1)
}

// TestEnergyUnits: an MI100 counts joules, and Navi 21 millijoules. The tools interpret both as 15.259 µJ. If neither target nor model is
// known, the power determines the unit, and without it there is no energy.
func TestEnergyUnits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		target, model string
		watts         float64
		shown         [2]float64 // 10 s apart
		joules        [2]float64 // 0: none
	}{
		"MI100":            {"gfx908", "", 36, [2]float64{0.903806, 0.909452}, [2]float64{59231, 59601}},
		"MI100, no target": {"", "AMD Instinct MI100", 36, [2]float64{0.903806, 0.909452}, [2]float64{59231, 59601}},
		"by the power":     {"", "", 36, [2]float64{0.903806, 0.909452}, [2]float64{0, 59601}},
		"Navi 21":          {"gfx1030", "", 0, [2]float64{269.957, 275.45}, [2]float64{17691.682, 18051.7}},
		"MI210":            {"gfx90a", "", 0, [2]float64{1000, 1360}, [2]float64{1000, 1360}},
		"nothing known":    {"", "", 0, [2]float64{1000, 1360}, [2]float64{}},
		"it disagrees":     {"", "", 36, [2]float64{1000, 4600}, [2]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := make(EnergyCounters)
			for i, want := range tt.joules {
				devices := []gpu.Device{{ID: "c", Model: tt.model, Info: gpu.Info{ComputeCapability: tt.target}, Energy: gpu.Total(tt.shown[i])}}
				if tt.watts > 0 {
					devices[0].Power.Draw = gpu.Some(tt.watts)
				}
				m.Unwrap(devices, smitest.Start.Add(time.Duration(i)*10*time.Second))
				joules, ok := devices[0].Energy.Get()
				assert.Equal(t, want > 0, ok)
				assert.InEpsilon(t, 1+want, 1+joules, 1e-4)
			}
		})
	}
}

func TestEnergyTotal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text     string
		unitless string
		want     float64 // 0: none
	}{
		{`8123.25`, "J", 8123.25},
		{`0`, "J", 0},
		// All 32 bits set, by the units and the digits of the tools' versions.
		{`65536.0`, "J", 0},
		{`65536.906`, "J", 0},
		{`65536.905`, "J", 0},
		{`65536.91`, "J", 0},
		{`{"value": 65536.9, "unit": "J"}`, "J", 0},
		{`65537`, "J", 0},
		{`65712.99961`, "J", 0},
		{`65713.0`, "J", 0},
		{`65713`, "J", 0},
		{`"65536905200.74"`, "uJ", 0},
		{`"65536905954.4"`, "uJ", 0},
		{`"65713000432.7"`, "uJ", 0},
		// Values that a counter can have.
		{`65536.5`, "J", 65536.5},
		{`65536.88`, "J", 65536.88},
		{`65536.93`, "J", 65536.93},
		{`65535.98`, "J", 65535.98},
		{`65712.9`, "J", 65712.9},
		{`65713.1`, "J", 65713.1},
		{`131073.81`, "J", 131073.81},
	} {
		got, ok := EnergyTotal(smitext.Quantity(smitest.Decoded(t, tt.text), smitext.Joules, tt.unitless)).Get()
		assert.Equal(t, tt.want != 0, ok, tt.text)
		assert.InDelta(t, tt.want, got, 1e-6, tt.text)
	}
}
