// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"time"
)

const (
	// gapFactor is how many times the usual distance of reads two of them may be apart for the later one to stand for the time
	// between them: one or two reads have failed.
	gapFactor = 3
	// firstGap is how far the first two reads may be apart, of which it is not known yet what is usual.
	firstGap = 5 * time.Minute
	// longestGap is the most in any case. A source that answers now and then makes long distances usual.
	longestGap = time.Hour
)

// cadence learns how far reads are apart. Nothing is attributed while a source cannot be read, and nobody tells how often it
// was to be.
type cadence struct {
	last time.Time
	gaps [5]time.Duration // the last distances, in a ring
	n    int              // how many there have been
}

// span is the time between two reads.
type span struct {
	end    time.Time
	length time.Duration // zero before the second read, and where the clock was set back
	// observed: the reads are as close as usual, so what the later one shows is taken for all of it. Otherwise most of it was
	// not seen.
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

// longest is how long a span may be to be observed. It goes by the median of the last ones: one that was too long does not
// change it, and another interval is soon the usual one.
func (c *cadence) longest() time.Duration {
	if c.n == 0 {
		return firstGap
	}
	known := c.gaps
	sorted := known[:min(c.n, len(known))]
	slices.Sort(sorted)
	return min(gapFactor*sorted[(len(sorted)-1)/2], longestGap)
}
