// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClock(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var c clock
	// read is what a message has that was written at a time of CLOCK_MONOTONIC, stamped by a clock that lags, and read after a delay.
	read := func(written, lag, delay time.Duration) time.Duration {
		got := c.time(written-lag, start.Add(written+delay), written+delay)
		return got.Sub(start) - written // the error
	}
	assert.Equal(t, time.Millisecond, read(day, 3*time.Second, time.Millisecond), "the first is taken to be read at once")
	assert.InDelta(t, time.Millisecond, read(day+time.Second, 3*time.Second, 900*time.Millisecond), float64(2*time.Millisecond), "a delayed one")
	assert.Zero(t, read(day+time.Minute, 3*time.Second, 0), "one without a delay corrects it")
	assert.InDelta(t, 0, read(day+2*time.Minute, 3*time.Second, 50*time.Second), float64(60*time.Millisecond), "the collector was stopped")
	assert.Zero(t, read(11*day, 4*time.Second, 0), "the stamps drift, by 100 ppm at most here")
	assert.Zero(t, read(11*day+time.Minute, -time.Hour, 0), "a clock that counts a suspension: stamps are ahead")
	assert.InDelta(t, 0, read(11*day+2*time.Minute, -time.Hour, time.Second), float64(40*time.Millisecond))
}
