// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cadence knows which distance between two reads is usual, and so whether what a read shows counts for the time since the read
// before.
package cadence

import (
	"slices"
	"time"
)

const (
	// gapFactor is how many times the interval may be between two reads for the later one to stand for the time between them: one or
	// two reads have failed.
	gapFactor = 3
	// longestGap bounds that time if reads are usually further apart. A source that answers only now and then makes long gaps usual.
	longestGap = time.Hour
)

// Cadence knows the configured interval between reads and learns the actual one: if there are more nodes than can be read in time, reads
// are further apart although none has failed. It is not safe for concurrent use.
type Cadence struct {
	interval time.Duration
	last     time.Time
	gaps     [5]time.Duration // the last distances, a ring
	n        int              // how many there have been
}

// New returns the Cadence of reads that take place once per interval. It has seen no read.
func New(interval time.Duration) *Cadence { return &Cadence{interval: interval} }

// Span is the time between two reads.
type Span struct {
	End    time.Time
	Length time.Duration // zero before the second read, and if the clock was set back
	// Observed reports that the reads are as close as configured or usual, so that what the later one shows counts for the whole span.
	Observed bool
}

// Next returns the span from the last read to one that takes place now.
func (c *Cadence) Next(now time.Time) Span {
	s := Span{End: now}
	if !c.last.IsZero() {
		s.Length = max(now.Sub(c.last), 0)
	}
	c.last = now
	s.Observed = s.Length <= c.Longest()
	if s.Length > 0 {
		c.gaps[c.n%len(c.gaps)] = s.Length
		c.n++
	}
	return s
}

// Longest returns how long a span may be to count as observed. The usual distance is the median of the last ones, which a single long
// one does not change.
func (c *Cadence) Longest() time.Duration {
	if c.n == 0 {
		return gapFactor * c.interval
	}
	known := c.gaps
	sorted := known[:min(c.n, len(known))]
	slices.Sort(sorted)
	return max(gapFactor*c.interval, min(gapFactor*sorted[(len(sorted)-1)/2], longestGap))
}
