// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package counter makes monotonic totals of counters that start at 0 again: because they have few bits, or because what counts was
// reset.
package counter

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Wrapping follows one counter that starts at 0 again at a known value. It adds up a wrap if no second one can have happened unseen;
// otherwise counting starts again. The zero Wrapping has no reading.
type Wrapping struct {
	check   Check
	wrapped float64 // what the wraps add up to
	// If something was missed, counting started again at base.
	since time.Time
	base  float64

	doubtful bool
}

// Doubt says that the counter may have been set to 0 since the last read. If it has fallen at the next read, that is not a wrap.
func (c *Wrapping) Doubt() { c.doubtful = true }

// Read returns the total for a counter that has this value and starts at 0 again when it would reach wrapsAt. A value of wrapsAt or more
// does not wrap, nor does a counter whose wrapsAt is 0. maxRate is the maximum increase of the counter in a second.
//
// If a value is doubtful, the total is absent until the next read. If counting starts again, the total is absent. It stays absent while the
// reads are so far apart that each may have missed a wrap: such a counter has no value, which is not 0.
func (c *Wrapping) Read(value, wrapsAt, maxRate float64, now time.Time) gpu.Counter[float64] {
	last, read := c.check.last, Reading{value, now}
	fell := value < last.Value
	doubtful := fell && c.doubtful
	c.doubtful = false
	if !last.At.IsZero() && last.Value >= wrapsAt { // it does not wrap, so there is nothing to add up
		if fell {
			*c = Wrapping{}
		}
		c.check = Check{last: read}
		return c.total(value)
	}
	if !last.At.IsZero() && value < wrapsAt && (doubtful || maxRate*now.Sub(last.At).Seconds() > wrapsAt) {
		c.begin(read, Check{last: read})
		return gpu.Counter[float64]{}
	}
	switch verdict, reset := c.check.Next(read, maxRate, wrapsAt); verdict {
	case Doubtful:
		return gpu.Counter[float64]{}
	case Wrapped:
		c.wrapped += wrapsAt
	case Reset:
		c.begin(reset, c.check)
	}
	return c.total(value)
}

// begin starts to count again at a read.
func (c *Wrapping) begin(reading Reading, check Check) {
	*c = Wrapping{check: check, since: reading.At, base: reading.Value}
}

func (c *Wrapping) total(value float64) gpu.Counter[float64] {
	total := c.wrapped + value - c.base
	if c.since.IsZero() {
		return gpu.Total(total)
	}
	return gpu.TotalSince(total, c.since)
}

const (
	// overshoot is by how much a GPU may draw more than its power limit for a while.
	overshoot = 1.5
	// unlimited replaces a power limit that cannot be read, in watts: more than any GPU with an energy counter of 32 bits draws, and small
	// enough for reads that are 30 s apart.
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
