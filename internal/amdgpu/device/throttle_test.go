// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestThrottleBits: each bit belongs to exactly one reason.
func TestThrottleBits(t *testing.T) {
	var all uint64
	for _, r := range throttleBits {
		assert.Zero(t, all&r.bits)
		all |= r.bits
	}
	for bit, want := range map[int]gpu.ThrottleReason{
		0: gpu.ThrottlePowerPPT, 7: gpu.ThrottlePowerPPT, 16: gpu.ThrottleCurrent, 22: gpu.ThrottleCurrent,
		23: gpu.ThrottleFirmwareReason, 32: gpu.ThrottleThermalGPU, 34: gpu.ThrottleThermalMemory, 36: gpu.ThrottleThermalGPU,
		38: gpu.ThrottleThermalVR, 41: gpu.ThrottleThermalVR, 43: gpu.ThrottleThermalExtern, 45: gpu.ThrottleThermalVR,
		47: gpu.ThrottleThermalExtern, 57: gpu.ThrottleFirmwareReason,
	} {
		var d gpu.Device
		setThrottleStatus(&d, gpu.Some(uint64(1)<<bit))
		for reason := gpu.ThrottlePowerPPT; reason <= gpu.ThrottleFirmwareReason; reason++ {
			assert.Equal(t, gpu.Some(reason == want), d.Throttle[reason].Active, "bit %d, reason %d", bit, reason)
		}
	}
	assert.Equal(t, 8+7+5+1+6+4+3, bits.OnesCount64(all))
	var d gpu.Device
	setThrottleStatus(&d, gpu.Opt[uint64]{})
	assert.Empty(t, d.Throttle)
}

// TestHeatOfACoolGPU: the firmware of an idle RX 7600S reports throttling by heat at 54 °C and 1 W.
func TestHeatOfACoolGPU(t *testing.T) {
	yes, no, unknown := gpu.Some(true), gpu.Some(false), gpu.Opt[bool]{}
	for name, tt := range map[string]struct {
		change       func(*amdgpusim.Readings)
		core, memory gpu.Opt[bool]
	}{
		"cool":            {func(*amdgpusim.Readings) {}, unknown, unknown},
		"hot spot":        {func(r *amdgpusim.Readings) { r.Junction = 101_000 }, yes, unknown},
		"hot edge":        {func(r *amdgpusim.Readings) { r.Edge = 92_000 }, yes, unknown},
		"hot memory":      {func(r *amdgpusim.Readings) { r.Memory = 96_000 }, unknown, yes},
		"without a limit": {func(r *amdgpusim.Readings) { r.EdgeLimits.Critical, r.MemoryLimit.Critical = 0, 0 }, yes, yes},
	} {
		for _, want := range []gpu.Group{gpu.GroupAll, gpu.GroupThrottle} {
			m := amdgpusim.Radeon()
			c := m.Cards[0]
			c.Readings.Edge, c.Readings.Junction, c.Readings.Memory, c.Readings.Average = 54_000, 57_000, 60_000, 1_000_000
			tt.change(&c.Readings)
			c.Metrics.(*amdgpusim.MetricsV1x3).IndependentThrottle = 1<<34 | 1<<35 | 1<<36
			_, g, input := first(t, m)
			g.cfg.Want = want
			d := g.Read(input).Device
			assert.Equal(t, tt.core, d.Throttle[gpu.ThrottleThermalGPU].Active, name)
			assert.Equal(t, tt.memory, d.Throttle[gpu.ThrottleThermalMemory].Active, name)
			assert.Equal(t, no, d.Throttle[gpu.ThrottleThermalVR].Active, name)
		}
	}
}

func residencyTable(seconds float64, checks, ppt uint64) *gpumetrics.Table {
	m := &gpumetrics.Table{ClockCounter: gpu.Some(uint64(seconds * 1e9)), Accumulations: gpu.Some(checks)}
	m.Residencies[gpumetrics.ResidencyPPT] = gpu.Some(ppt)
	m.Residencies[gpumetrics.ResidencyProchot] = gpu.Some[uint64](0)
	return m
}

// TestThrottleTimes tests the reasons of the limiters. internal/counter tests the times.
func TestThrottleTimes(t *testing.T) {
	var times throttleTimes
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	read := func(table *gpumetrics.Table, now time.Time) gpu.Device {
		var d gpu.Device
		times.read(&d, table, now)
		return d
	}
	assert.Empty(t, read(residencyTable(100, 50_000, 10_000), start).Throttle, "one table says nothing")
	assert.Empty(t, read(&gpumetrics.Table{}, start).Throttle, "a table without counts")
	d := read(residencyTable(130, 65_000, 15_000), start.Add(30*time.Second))
	power, extern := d.Throttle[gpu.ThrottlePowerPPT], d.Throttle[gpu.ThrottleThermalExtern]
	assert.Equal(t, gpu.Some(true), power.Active)
	seconds, _ := power.Time.Get()
	assert.InDelta(t, 10, seconds, 1e-9, "of 15,000 checks 5,000 found it active, in 30 s")
	assert.Equal(t, start, power.Time.Since())
	assert.Equal(t, gpu.Some(false), extern.Active)
	assert.False(t, d.Throttle[gpu.ThrottleThermalVR].Active.Known())
	assert.Empty(t, read(residencyTable(5, 65_100, 15_000), start.Add(time.Minute)).Throttle, "the GPU was reset")

	// The status stays if the counts say nothing.
	d = gpu.Device{}
	d.Throttle[gpu.ThrottleCurrent].Active = gpu.Some(true)
	times.read(&d, residencyTable(35, 66_000, 15_000), start.Add(90*time.Second))
	assert.Equal(t, gpu.Some(true), d.Throttle[gpu.ThrottleCurrent].Active)
}
