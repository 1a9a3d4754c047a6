// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestThrottleBits: each bit means one reason, and no bit two.
func TestThrottleBits(t *testing.T) {
	var all uint64
	for _, r := range throttleReasons {
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
		throttleStatus(&d, gpu.Some(uint64(1)<<bit))
		for reason := gpu.ThrottlePowerPPT; reason < gpu.NumThrottleReasons; reason++ {
			assert.Equal(t, gpu.Some(reason == want), d.Throttle[reason].Active, "bit %d, reason %d", bit, reason)
		}
	}
	assert.Equal(t, 8+7+5+1+6+4+3, bits.OnesCount64(all))
	var d gpu.Device
	throttleStatus(&d, gpu.Opt[uint64]{})
	assert.Empty(t, d.Throttle)
}

func residencyTable(seconds float64, looks uint32, ppt uint32) *metrics {
	m := &metrics{clockCounter: gpu.Some(uint64(seconds * 1e9)), accumulations: gpu.Some(looks)}
	m.residencies[residencyPPT] = gpu.Some(ppt)
	m.residencies[residencyProchot] = gpu.Some[uint32](0)
	return m
}

func TestResidency(t *testing.T) {
	var r residency
	read := func(m *metrics, at time.Time) (power, extern gpu.Throttle) {
		var d gpu.Device
		r.read(&d, m, at)
		return d.Throttle[gpu.ThrottlePowerPPT], d.Throttle[gpu.ThrottleThermalExtern]
	}
	power, _ := read(residencyTable(100, 50_000, 10_000), start)
	assert.Equal(t, gpu.Throttle{}, power, "one table tells nothing")
	power, extern := read(residencyTable(130, 65_000, 15_000), start.Add(30*time.Second))
	assert.Equal(t, gpu.Some(true), power.Active)
	spent, ok := power.Time.Get()
	assert.True(t, ok)
	assert.InDelta(t, 10, spent, 1e-9, "of 15,000 looks 5,000 found it at work, in 30 s")
	assert.Equal(t, start, power.Time.Since())
	assert.Equal(t, gpu.Some(false), extern.Active)
	spent, _ = extern.Time.Get()
	assert.Zero(t, spent)
	power, _ = read(residencyTable(160, 80_000, 15_000), start.Add(60*time.Second))
	assert.Equal(t, gpu.Some(false), power.Active)
	spent, _ = power.Time.Get()
	assert.InDelta(t, 10, spent, 1e-9)
	power, _ = read(residencyTable(190, 80_000, 15_000), start.Add(90*time.Second))
	spent, _ = power.Time.Get()
	assert.InDelta(t, 10, spent, 1e-9, "the firmware has not looked since")
}

func TestResidencyWrapsAndResets(t *testing.T) {
	var r residency
	var d gpu.Device
	r.read(&d, residencyTable(100, 1<<32-1000, 1<<32-100), start)
	r.read(&d, residencyTable(110, 4000, 900), start.Add(10*time.Second))
	spent, ok := d.Throttle[gpu.ThrottlePowerPPT].Time.Get()
	assert.True(t, ok)
	assert.InDelta(t, 2, spent, 1e-9)
	for name, m := range map[string]*metrics{
		"clock goes back":          residencyTable(5, 4100, 900),
		"more at work than looked": residencyTable(120, 4100, 5000),
		"looks go back":            residencyTable(120, 100, 900),
	} {
		t.Run(name, func(t *testing.T) {
			r := r
			var d gpu.Device
			now := start.Add(time.Minute)
			r.read(&d, m, now)
			assert.Empty(t, d.Throttle)
			assert.Equal(t, now, r.began)
		})
	}
}
