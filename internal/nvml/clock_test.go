// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHorizon(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	us := micros(now)
	day := uint64(24 * time.Hour.Microseconds())
	for name, tt := range map[string]struct {
		us   uint64
		want bool
	}{
		"none":                      {0, false},
		"before":                    {us - day, false},
		"now":                       {us, false},
		"within the slack":          {us + uint64(clockSlack.Microseconds()), false},
		"beyond the slack":          {us + uint64(clockSlack.Microseconds()) + 1, true},
		"hours ahead":               {us + day/4, true},
		"of another clock":          {100 * day, false},
		"of another clock, at most": {firstEpoch, false},
	} {
		assert.Equal(t, tt.want, tt.us > horizon(now), name)
	}
	start := time.Unix(60, 0) // a machine that has not been told the time
	assert.Greater(t, us, horizon(start), "the clock was set back to 1970")
	assert.Less(t, micros(start.Add(time.Hour)), horizon(start), "which cannot be told from the time since it was booted")
	assert.Zero(t, micros(time.Unix(-5, 0)))
	assert.Zero(t, windowStart(5, time.Second))
	assert.Equal(t, uint64(4e6), windowStart(5e6, time.Second))
	assert.Equal(t, uint64(10e6), windowStart(20e6, time.Hour))
}

// A clock that is set back by less than is noticed makes no idle process either, nor does one that is set forward.
func TestUsagesOnAClockThatIsSet(t *testing.T) {
	noon := time.Unix(1_700_000_000, 0)
	begin := func(period uint64) (u usages) {
		u.start(micros(noon), time.Second)
		u.period = period
		u.add([]usage{{pid: 1, time: micros(noon), sm: 50}})
		u.now = noon
		u.done()
		return u
	}
	t.Run("back by a little", func(t *testing.T) {
		u := begin(0)
		u.now = noon.Add(-time.Second)
		u.ended = u.now.Add(-3 * time.Second) // have gone by while the clock was set back by 4 s
		u.add(nil)
		assert.False(t, u.told(), "the driver's samples are from before the window")
		u.now = noon.Add(slowestSamples)
		assert.True(t, u.told())
	})
	t.Run("of another clock", func(t *testing.T) {
		var u usages
		u.start(5e6, time.Second)
		u.now = noon
		u.done()
		u.now = noon.Add(slowestSamples)
		assert.True(t, u.told(), "the time since the machine was booted has nothing to do with ours")
	})
	t.Run("forward", func(t *testing.T) {
		u := begin(1e6)
		u.now = noon.Add(10 * time.Second) // by the clock that is never set
		hour := micros(noon.Add(time.Hour))
		for second := range uint64(10) {
			u.add([]usage{{pid: 1, time: hour + second*1e6, sm: 50}})
		}
		sm, _, _ := u.of(1)
		assert.InDelta(t, 0.5, sm, 1e-9, "of 10 s, not of an hour")
	})
}
