// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"time"
)

const (
	unknownInterval = time.Minute     // of a node that has sent once
	shortestSilence = 5 * time.Second // after which a node is stale at the earliest
	longestInterval = time.Hour
	silentIntervals = 3

	clusterGone = 10 * time.Minute // how long the sources of a cluster that sends nothing are shown
	settling    = 10 * time.Minute // how long the clock of a node is not taken to be set back again
)

// interval is the time between two reads of a node, of the last ones. Each is the time between two points of one series, so that two
// vendors, or a message in parts, do not make it shorter.
type interval struct {
	steps [4]time.Duration // of any order; 0: none yet
	next  int
}

func (i *interval) add(step time.Duration) {
	i.steps[i.next] = min(step, longestInterval)
	i.next = (i.next + 1) % len(i.steps)
}

// known returns the upper median, 0 before there is one: neither an outage nor a second collector, which sends in between, counts.
func (i *interval) known() time.Duration {
	steps := slices.DeleteFunc(slices.Sorted(slices.Values(i.steps[:])), func(d time.Duration) bool { return d == 0 })
	if len(steps) == 0 {
		return 0
	}
	return steps[len(steps)/2]
}

// silence returns the time after which a node that sends nothing is stale.
func (i *interval) silence() time.Duration {
	known := i.known()
	if known == 0 {
		known = unknownInterval
	}
	return max(silentIntervals*known, shortestSilence)
}
