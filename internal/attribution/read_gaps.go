// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"time"
)

const (
	// gapFactor is how many times the interval may be between two reads for the later one to stand for the time between them: one or
	// two reads have failed.
	gapFactor = 3
	// longestGap bounds that time where reads are usually further apart. A source that answers only now and then makes long
	// distances usual.
	longestGap = time.Hour
)

// cadence knows the configured interval between reads and learns the actual one: where there are more nodes to read than there is time
// for, reads are further apart although none has failed.
type cadence struct {
	interval time.Duration
	last     time.Time
	gaps     [5]time.Duration // the last distances, a ring
	n        int              // how many there have been
}

// span is the time between two reads.
type span struct {
	end    time.Time
	length time.Duration // zero before the second read, and where the clock was set back
	// observed reports that the reads are as close as configured or usual, so that what the later one shows counts for the whole span.
	observed bool
}

// next returns the span from the last read to one that takes place now.
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

// longest returns how long a span may be to count as observed. The usual distance is the median of the last ones, which a single long
// one does not change.
func (c *cadence) longest() time.Duration {
	if c.n == 0 {
		return gapFactor * c.interval
	}
	known := c.gaps
	sorted := known[:min(c.n, len(known))]
	slices.Sort(sorted)
	return max(gapFactor*c.interval, min(gapFactor*sorted[(len(sorted)-1)/2], longestGap))
}
