// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"math"
	"time"
)

// Check distinguishes a counter that was reset from a value that was read wrong once. If a value does not follow from the last one, it is
// doubtful until the next read confirms it with a value that follows from it. The zero Check has no reading.
type Check struct {
	last  Reading // that was not in doubt, or was confirmed
	doubt Reading // the last read, if it is in doubt
}

// Reading is a value of a counter and the time of its read. The zero Reading means that the counter was not read.
type Reading struct {
	Value float64
	At    time.Time
}

// Verdict is what a read of a counter shows.
type Verdict uint8

const (
	// Continued means that the counter goes on.
	Continued Verdict = iota
	// Wrapped means that the counter goes on, and has started at 0 again because it has no more bits.
	Wrapped
	// Reset means that the counter was reset before the read whose doubtful value this one confirms.
	Reset
	// Doubtful means that the value may be wrong. The next read decides.
	Doubtful
)

// Unlimited is the maxRate of a counter that can rise by any amount in no time.
var Unlimited = math.Inf(1)

// minElapsed is the least time between two reads: the counter is not read at exactly the time of the read.
const minElapsed = time.Second

// maxRise returns the most that a counter can rise in a time. The time is negative if the clock was set back, and then says nothing.
func maxRise(maxRate float64, elapsed time.Duration) float64 {
	if elapsed < 0 {
		return Unlimited
	}
	return maxRate * max(elapsed, minElapsed).Seconds()
}

// Next takes a read. maxRate is the most that the counter can rise in a second. It wraps at wrapsAt; 0: it does not wrap. reset is the first
// read after a reset.
func (c *Check) Next(now Reading, maxRate, wrapsAt float64) (v Verdict, reset Reading) {
	last, doubt := c.last, c.doubt
	limit := maxRise(maxRate, now.At.Sub(last.At))
	switch grown := now.Value - last.Value; {
	case last.At.IsZero(), grown >= 0 && grown <= limit:
		v = Continued
	case !doubt.At.IsZero() && doubt.leadsTo(now, last, maxRate):
		if doubt.Value < last.Value {
			v, reset = Reset, doubt
		}
	case grown < 0 && max(now.Value, last.Value, limit) < wrapsAt && grown+wrapsAt <= limit:
		v = Wrapped
	default:
		c.doubt = now
		return Doubtful, Reading{}
	}
	*c = Check{last: now}
	return v, reset
}

// leadsTo reports whether a read confirms a doubtful one. A rise that should not be possible confirms it too, if it is smaller than the
// difference that the doubt is about: a counter that is faster than we know is not doubted for good.
func (r Reading) leadsTo(now, last Reading, maxRate float64) bool {
	grown := now.Value - r.Value
	return grown >= 0 && grown <= max(maxRise(maxRate, now.At.Sub(r.At)), math.Abs(r.Value-last.Value))
}
