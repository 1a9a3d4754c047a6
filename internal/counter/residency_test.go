// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// looks has two limiters. One of them is never at work.
func looks(seconds float64, total, active uint64) Looks {
	return Looks{
		Clock: gpu.Some(time.Duration(seconds * float64(time.Second))), Total: total,
		Limiters: []gpu.Opt[uint64]{gpu.Some(active), gpu.Some[uint64](0), {}},
	}
}

func spent(t *testing.T, l Limiter) float64 {
	t.Helper()
	s, ok := l.Time.Get()
	assert.True(t, ok)
	return s
}

func TestResidency(t *testing.T) {
	var r Residency
	assert.Equal(t, make([]Limiter, 3), r.Read(looks(100, 50_000, 10_000), start), "one read is not enough")
	got := r.Read(looks(130, 65_000, 15_000), start.Add(time.Hour))
	assert.Equal(t, gpu.Some(true), got[0].Active)
	assert.InDelta(t, 10, spent(t, got[0]), 1e-9, "of 15,000 looks 5,000 found it at work, in 30 s of the firmware's time")
	assert.Equal(t, start, got[0].Time.Since())
	assert.Equal(t, gpu.Some(false), got[1].Active)
	assert.Zero(t, spent(t, got[1]))
	assert.Equal(t, Limiter{}, got[2], "it is not counted")
	got = r.Read(looks(160, 80_000, 15_000), start)
	assert.Equal(t, gpu.Some(false), got[0].Active)
	assert.InDelta(t, 10, spent(t, got[0]), 1e-9)
	got = r.Read(looks(190, 80_000, 15_000), start)
	assert.InDelta(t, 10, spent(t, got[0]), 1e-9, "the firmware has not looked since")
}

func TestResidencyByTheTimeOfTheRead(t *testing.T) {
	var r Residency
	now := start
	for i := range 3 {
		got := r.Read(Looks{Total: uint64(1000 * i), Limiters: []gpu.Opt[uint64]{gpu.Some(uint64(250 * i))}}, now)
		if i > 0 {
			assert.InDelta(t, 7.5*float64(i), spent(t, got[0]), 1e-9)
		}
		now = now.Add(30 * time.Second)
	}
}

func TestResidencyWrapsAndResets(t *testing.T) {
	for name, later := range map[string]Looks{
		"clock goes back":          looks(5, 4100, 900),
		"more at work than looked": looks(120, 4100, 5000),
		"looks go back":            looks(120, 100, 900),
	} {
		t.Run(name, func(t *testing.T) {
			var r Residency
			r.Read(looks(100, 1<<32-1000, 1<<32-100), start)
			got := r.Read(looks(110, 4000, 900), start.Add(10*time.Second))
			assert.InDelta(t, 2, spent(t, got[0]), 1e-9, "both wrapped")
			now := start.Add(time.Minute)
			assert.Equal(t, make([]Limiter, 3), r.Read(later, now))
			later.Clock = gpu.Some(time.Hour)
			got = r.Read(later, now)
			assert.Equal(t, now, got[0].Time.Since())
			assert.Zero(t, spent(t, got[0]))
		})
	}
}

// TestResidencyOf64Bits: a count above 32 bits does not wrap. If it falls, counting has started again, however small the new count is.
func TestResidencyOf64Bits(t *testing.T) {
	var r Residency
	r.Read(looks(100, 1<<32-1000, 1<<32-1000), start)
	got := r.Read(looks(110, 1<<32+1000, 1<<32-500), start)
	assert.InDelta(t, 2.5, spent(t, got[0]), 1e-9)
	got = r.Read(looks(120, 1<<32+3000, 1<<32), start)
	assert.InDelta(t, 5, spent(t, got[0]), 1e-9)
	now := start.Add(time.Minute)
	assert.Equal(t, make([]Limiter, 3), r.Read(looks(130, 4000, 100), now), "although the low bits have risen")
	assert.Zero(t, spent(t, r.Read(looks(140, 5000, 100), now)[0]))
}

// What a limiter's count did while it was not read is not known.
func TestResidencyMissingReads(t *testing.T) {
	var r Residency
	r.Read(looks(0, 0, 0), start)
	r.Read(looks(10, 100, 50), start)
	missing := looks(20, 200, 0)
	missing.Limiters[0] = gpu.Opt[uint64]{}
	assert.Equal(t, Limiter{}, r.Read(missing, start)[0])
	assert.Equal(t, Limiter{}, r.Read(looks(30, 300, 150), start)[0])
	assert.InDelta(t, 10, spent(t, r.Read(looks(40, 400, 200), start)[0]), 1e-9)
}
