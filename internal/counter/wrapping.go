// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package counter makes monotonic totals of counters that start at 0 again: because they have few bits, or because what counts was
// reset.
package counter

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Wrapping follows one counter that starts at 0 again at a known value. It adds up a wrap where no second one can have happened
// unseen; otherwise counting begins again. The zero Wrapping has read nothing.
type Wrapping struct {
	last    float64 // value at the last read
	at      time.Time
	wrapped float64 // what the wraps add up to
	// Where something was missed, counting began again at base.
	since time.Time
	base  float64

	doubtful bool
}

// Doubt says that the counter may have been set to 0 since the last read. If it has fallen at the next read, that is no wrap.
func (c *Wrapping) Doubt() { c.doubtful = true }

// Read returns the total for a counter that has this value and starts at 0 again when it would reach wrapsAt. A counter that is higher
// does not wrap, nor does one whose wrapsAt is 0. maxRate is the most that the counter can rise in a second.
//
// Where counting begins again, the total is absent. It stays absent while the reads are so far apart that each may have missed a wrap:
// such a counter has no value, which is not 0.
func (c *Wrapping) Read(value, wrapsAt, maxRate float64, now time.Time) gpu.Counter[float64] {
	before := *c
	c.last, c.at, c.doubtful = value, now, false
	fell := value < before.last
	switch wraps := value < wrapsAt && before.last < wrapsAt; {
	case before.at.IsZero():
	case wraps:
		most := maxRate * now.Sub(before.at).Seconds()
		if most > wrapsAt || fell && (before.doubtful || value-before.last+wrapsAt > most) {
			*c = Wrapping{last: value, at: now, since: now, base: value}
			return gpu.Counter[float64]{}
		}
		if fell {
			c.wrapped += wrapsAt
		}
	case fell: // it does not wrap, so it was reset
		*c = Wrapping{last: value, at: now}
	}
	total := c.wrapped + value - c.base
	if c.since.IsZero() {
		return gpu.Total(total)
	}
	return gpu.TotalSince(total, c.since)
}

const (
	// overshoot is by how much a GPU may draw more than its power limit for a while.
	overshoot = 1.5
	// unlimited is what stands for a power limit that cannot be read, in watts: more than any GPU with an energy counter of 32 bits has,
	// and little enough for reads that are 30 s apart.
	unlimited = 1000.0
)

// MaxPower returns the most that a GPU can draw, in watts, from its highest power limit: the maxRate of an energy counter in joules. A
// limit of 0 or less is taken as one that could not be read.
func MaxPower(limit gpu.Opt[float64]) float64 {
	watts, ok := limit.Get()
	if !ok || watts <= 0 {
		watts = unlimited
	}
	return watts * overshoot
}
