// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// observation is the value of a counter and the total that follows.
type observation struct {
	after time.Duration // the observation before
	value float64
	total float64
	again bool // counting starts again here, which the next read confirms if it was unknown
	wrong bool // the value is not taken
}

func TestWrapping(t *testing.T) {
	const (
		wrapsAt = 65536.0
		step    = 30 * time.Second
	)
	for name, tt := range map[string]struct {
		wrapsAt, watts float64
		observations   []observation
	}{
		"wraps": {wrapsAt, 300, []observation{
			{value: 65000, total: 65000},
			{after: step, value: 8464, total: wrapsAt + 8464},
			{after: step, value: 17464, total: wrapsAt + 17464},
			{after: 2 * time.Minute, value: 60000, total: wrapsAt + 60000},
			{after: step, value: 2000, total: 2*wrapsAt + 2000},
		}},
		"the power limit is unknown": {wrapsAt, 0, []observation{
			{value: 65000, total: 65000},
			{after: step, value: 8464, total: wrapsAt + 8464},
			{after: time.Minute, value: 20000, again: true},
			{after: step, value: 29000, total: 9000},
		}},
		"a negative power limit is none": {wrapsAt, -1, []observation{
			{value: 65000, total: 65000},
			{after: step, value: 8464, total: wrapsAt + 8464},
		}},
		"so long that it may have wrapped unseen": {wrapsAt, 300, []observation{
			{value: 1000, total: 1000},
			{after: 3 * time.Minute, value: 9000, again: true},
			{after: step, value: 12000, total: 3000},
			{after: time.Minute, value: 30000, total: 21000},
			{after: 3 * time.Minute, value: 31000, again: true},
			{after: 3 * time.Minute, value: 32000, again: true},
			{after: step, value: 33000, total: 1000},
		}},
		"wraps after counting has begun again": {wrapsAt, 300, []observation{
			{value: 1000, total: 1000},
			{after: 3 * time.Minute, value: 60000, again: true},
			{after: step, value: 464, total: 6000},
		}},
		"falls by more than the GPU can have drawn": {wrapsAt, 300, []observation{
			{value: 40000, total: 40000},
			{after: step, value: 50, again: true},
			{after: step, value: 550, total: 500},
		}},
		"does not wrap": {0, 750, []observation{
			{value: 1000, total: 1000},
			{after: time.Hour, value: 10, total: 10},
			{after: time.Hour, value: 1 << 40, total: 1 << 40},
		}},
		"shows more than one that wraps there can": {wrapsAt, 750, []observation{
			{value: 65535, total: 65535},
			{after: time.Second, value: 65537, total: 65537},
			{after: time.Hour, value: 900000, total: 900000},
			{after: step, value: 12, total: 12},
			{after: step, value: 300, total: 300},
		}},
		"one wrong value after a wrap": {wrapsAt, 300, []observation{
			{value: 65000, total: 65000},
			{after: step, value: 8464, total: wrapsAt + 8464},
			{after: step, value: 99_999_999_999, wrong: true},
			{after: step, value: 10464, total: wrapsAt + 10464},
			{after: step, value: 40000, wrong: true},
			{after: step, value: 12464, total: wrapsAt + 12464},
			{after: step, value: 200, wrong: true},
			{after: step, value: 14464, total: wrapsAt + 14464},
		}},
		"one wrong value before a wrap": {wrapsAt, 300, []observation{
			{value: 65000, total: 65000},
			{after: step, value: 99_999_999_999, wrong: true},
			{after: step, value: 464, total: wrapsAt + 464},
		}},
		"reset, which two intervals would allow to be a wrap": {wrapsAt, 300, []observation{
			{value: 45000, total: 45000},
			{after: step, value: 10, again: true}, // 13,500 J in 30 s at the most, not 20,546
			{after: step, value: 20, total: 10},
		}},
		"stands still": {wrapsAt, 300, []observation{
			{value: 60000, total: 60000},
			{after: step, value: 60000, total: 60000},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var c Wrapping
			now, since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Time{}
			for i, r := range tt.observations {
				now = now.Add(r.after)
				var capacity gpu.Opt[float64]
				if tt.watts != 0 {
					capacity = gpu.Some(tt.watts)
				}
				joules := c.Read(r.value, tt.wrapsAt, MaxPower(capacity), now)
				if r.again {
					since = now
				}
				if r.again || r.wrong {
					require.False(t, joules.Known(), "observation %d", i)
					continue
				}
				total, ok := joules.Get()
				require.True(t, ok, "observation %d", i)
				assert.InDelta(t, r.total, total, 1e-6, "observation %d", i)
				assert.Equal(t, since, joules.Since(), "observation %d", i)
			}
		})
	}
}

// A power limit of 0 is one that could not be read.
func TestPowerLimitOfZero(t *testing.T) {
	var c Wrapping
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c.Read(65000, 65536, MaxPower(gpu.Some(0.0)), now)
	assert.Equal(t, gpu.Total(65536+464.0), c.Read(464, 65536, MaxPower(gpu.Some(0.0)), now.Add(10*time.Second)))
}

// Doubt makes a fall a reset. A counter that has not fallen goes on.
func TestDoubt(t *testing.T) {
	const wrapsAt = 65536.0
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	read := func(c *Wrapping, value float64) gpu.Counter[float64] {
		now = now.Add(30 * time.Second)
		return c.Read(value, wrapsAt, MaxPower(gpu.Some(300.0)), now)
	}
	var c Wrapping
	c.Doubt()
	assert.Equal(t, gpu.Total(65000.0), read(&c, 65000))
	c.Doubt()
	assert.Equal(t, gpu.Total(65500.0), read(&c, 65500))
	assert.Equal(t, gpu.Total(wrapsAt+100), read(&c, 100), "it was in doubt before, not now")
	c.Doubt()
	assert.False(t, read(&c, 50).Known())
	assert.Equal(t, gpu.TotalSince(10.0, now), read(&c, 60))
}
