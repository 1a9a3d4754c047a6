// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"time"
)

const (
	// gapFactor is how many times the interval two reads may be apart for the later one to stand for the time between them: one
	// or two reads have failed.
	gapFactor = 3
	// longestGap is the most where reads are usually further apart than that. A source that answers now and then makes long
	// distances usual.
	longestGap = time.Hour
)

// cadence knows how far reads are to be apart, and learns how far they are: where there are more nodes to read than there is time
// for, no read has failed.
type cadence struct {
	interval time.Duration
	last     time.Time
	gaps     [5]time.Duration // the last distances, in a ring
	n        int              // how many there have been
}

// span is the time between two reads.
type span struct {
	end    time.Time
	length time.Duration // zero before the second read, and where the clock was set back
	// observed: the reads are as close as they are to be, or usually are, so what the later one shows is taken for all of it.
	// Otherwise most of it was not seen.
	observed bool
}

// next returns the time from the last read to one that takes place now.
func (c *cadence) next(now time.Time) span {
	s := span{end: now}
	if !c.last.IsZero() {
		s.length = max(now.Sub(c.last), 0)
	}
	c.last = now
	s.observed = s.length <= c.longest()
	if s.length > 0 {
		c.gaps[c.n%len(c.gaps)] = s.length
		c.n++
	}
	return s
}

// longest is how long a span may be to be observed. What is usual is the median of the last ones: one that was too long does not
// change it.
func (c *cadence) longest() time.Duration {
	if c.n == 0 {
		return gapFactor * c.interval
	}
	known := c.gaps
	sorted := known[:min(c.n, len(known))]
	slices.Sort(sorted)
	return max(gapFactor*c.interval, min(gapFactor*sorted[(len(sorted)-1)/2], longestGap))
}
