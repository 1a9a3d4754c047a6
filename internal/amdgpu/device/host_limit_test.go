// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestHostLimits: in 5000 of 10,000 checks in 10 s the clock of one XCC was below the limit of the host; the clock of the other XCC never
// was.
func TestHostLimits(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var times throttleTimes
	count := gpu.Some[uint64]
	xcc := func(power, thermal, low uint64) gpumetrics.XCC {
		return gpumetrics.XCC{BelowPower: count(power), BelowThermal: count(thermal), LowUse: count(low)}
	}
	read := func(seconds, looks uint64, xccs ...gpumetrics.XCC) gpu.Device {
		var d gpu.Device
		times.read(&d, &gpumetrics.Table{ClockCounter: count(seconds * 1e9), Accumulations: count(looks), XCCs: xccs}, start)
		return d
	}
	spent := func(d *gpu.Device, reason gpu.ThrottleReason) float64 {
		s, ok := d.Throttle[reason].Time.Get()
		assert.True(t, ok, "%d", reason)
		return s
	}
	d := read(100, 50_000, xcc(1000, 0, 7000), xcc(10, 0, 7000))
	assert.Empty(t, d.Throttle, "one read is not enough")

	d = read(110, 60_000, xcc(6000, 0, 17_001), xcc(10, 0, 7000))
	assert.InDelta(t, 2.5, spent(&d, gpu.ThrottleHostLimitPower), 1e-9, "the mean of 5 s and 0 s")
	assert.InDelta(t, 0, spent(&d, gpu.ThrottleHostLimitThermal), 1e-9)
	assert.InDelta(t, 5, spent(&d, gpu.ThrottleLowUtilization), 1e-9, "the driver rounds: one more than there were looks is all of them")
	assert.Equal(t, start, d.Throttle[gpu.ThrottleHostLimitPower].Time.Since())
	assert.Equal(t, gpu.Some(true), d.Throttle[gpu.ThrottleHostLimitPower].Active, "of one XCC")
	assert.Equal(t, gpu.Some(false), d.Throttle[gpu.ThrottleHostLimitThermal].Active)
	assert.False(t, d.Throttle[gpu.ThrottleLowUtilization].Active.Known(), "it holds nothing back")

	d = read(120, 70_000, xcc(6000, 0, 17_001), gpumetrics.XCC{LowUse: count(7000)})
	assert.InDelta(t, 5, spent(&d, gpu.ThrottleHostLimitPower), 1e-9, "the second has no such count now")
	d = read(130, 80_000, xcc(6000, 0, 17_001), xcc(10, 0, 7000))
	assert.False(t, d.Throttle[gpu.ThrottleHostLimitPower].Time.Known(), "what the second did meanwhile is not known")

	assert.Empty(t, read(140, 90_000).Throttle, "an earlier table")
}

// TestAPULimiters: a limiter whose count has risen was active since the last read.
func TestAPULimiters(t *testing.T) {
	var limiters apuLimiters
	read := func(prochot, fppt, sppt uint64) gpu.Device {
		var table gpumetrics.Table
		table.LimiterCounts[gpumetrics.LimiterProchot] = gpu.Some(prochot)
		table.LimiterCounts[gpumetrics.LimiterFPPT] = gpu.Some(fppt)
		table.LimiterCounts[gpumetrics.LimiterSPPT] = gpu.Some(sppt)
		var d gpu.Device
		limiters.read(&d, &table)
		return d
	}
	d := read(7, 1<<32-2, 9)
	assert.Empty(t, d.Throttle, "one read is not enough")
	d = read(7, 3, 9)
	assert.Equal(t, gpu.Some(false), d.Throttle[gpu.ThrottleThermalExtern].Active)
	assert.Equal(t, gpu.Some(true), d.Throttle[gpu.ThrottlePowerPPT].Active, "one of its counts wrapped")
	assert.False(t, d.Throttle[gpu.ThrottleThermalGPU].Active.Known(), "it is not counted")
	assert.False(t, d.Throttle[gpu.ThrottlePowerPPT].Time.Known())
	d = read(0, 3, 9)
	assert.False(t, d.Throttle[gpu.ThrottleThermalExtern].Active.Known(), "counting has started again")
	assert.Equal(t, gpu.Some(false), d.Throttle[gpu.ThrottlePowerPPT].Active)
}
