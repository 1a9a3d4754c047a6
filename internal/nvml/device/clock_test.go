// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

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
		"within the tolerance":      {us + uint64(clockTolerance.Microseconds()), false},
		"beyond the tolerance":      {us + uint64(clockTolerance.Microseconds()) + 1, true},
		"hours ahead":               {us + day/4, true},
		"of another clock":          {100 * day, false},
		"of another clock, at most": {earliestEpoch, false},
	} {
		assert.Equal(t, tt.want, tt.us > horizon(now), name)
	}
	start := time.Unix(60, 0) // a machine whose clock is not set
	assert.Greater(t, us, horizon(start), "the clock was set back to 1970")
	assert.Less(t, micros(start.Add(time.Hour)), horizon(start), "which cannot be distinguished from the time since boot")
	assert.Zero(t, micros(time.Unix(-5, 0)))
	assert.Zero(t, windowStart(5, time.Second))
	assert.Equal(t, uint64(4e6), windowStart(5e6, time.Second))
	assert.Equal(t, uint64(10e6), windowStart(20e6, time.Hour))
}
