// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWait(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		policy Policy
		waits  []time.Duration // after 0 failures, 1, 2, …
	}{
		"the next attempt is free": {Policy{First: 30 * s, Max: 300 * s, Free: 1}, []time.Duration{0, 0, 30 * s, 60 * s, 120 * s, 240 * s, 300 * s, 300 * s}},
		"none is free":             {Policy{First: 10 * s, Max: 300 * s}, []time.Duration{0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s}},
		"longer than the maximum":  {Policy{First: 900 * s, Max: 300 * s}, []time.Duration{0, 300 * s, 300 * s}},
		"no wait at all":           {Policy{}, []time.Duration{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			for failures, wait := range c.waits {
				assert.Equal(t, wait, c.policy.Wait(failures), "%d", failures)
			}
			assert.Equal(t, c.policy.Max, c.policy.Wait(math.MaxInt32))
		})
	}
}

// Each wait is twice the one before until the maximum, also in another unit and if the maximum is odd.
func TestWaitInReads(t *testing.T) {
	for failures, wait := range []int{0, 2, 4, 8, 16, 32, 33, 33} {
		assert.Equal(t, wait, PolicyIn[int]{First: 2, Max: 33}.Wait(failures))
	}
}

func TestBackoff(t *testing.T) {
	policy := Policy{First: 10 * time.Second, Max: time.Minute, Free: 1}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b Backoff
	assert.True(t, b.Due(now))
	b.Failed(now, policy)
	assert.True(t, b.Due(now), "the next attempt is free")
	for i, wait := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		b.Failed(now, policy)
		assert.Equal(t, i+2, b.Failures())
		assert.False(t, b.Due(now))
		assert.False(t, b.Due(now.Add(wait-1)))
		assert.True(t, b.Due(now.Add(wait)))
	}
	assert.True(t, b.Due(now.Add(-time.Hour)), "the clock was set back")
	b = Backoff{}
	assert.True(t, b.Due(now))
	assert.Zero(t, b.Failures())
}

func TestJitter(t *testing.T) {
	assert.Zero(t, Jitter(0))
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		d := Jitter(time.Minute)
		least, most = min(least, d), max(most, d)
	}
	assert.InDelta(t, 45, least.Seconds(), 3)
	assert.InDelta(t, 75, most.Seconds(), 3)
	assert.GreaterOrEqual(t, least, 45*time.Second)
	assert.LessOrEqual(t, most, 75*time.Second)
}
