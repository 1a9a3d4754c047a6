// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"slices"
	"time"
)

// window is one interval of a run, for all nodes.
type window struct {
	read  int // nodes that were read in it
	twice int // nodes that were read more than once
}

// windows returns how often each node was read in each of the intervals after a time. Each node has its own offset in the interval. An
// interval of a node starts half an interval before the offset of its first read, for some nodes before the given time. So a node that is
// read just when the first interval starts, and some milliseconds later the next time, was not missed.
func windows(times map[string][]time.Time, start time.Time, interval time.Duration, count int) []window {
	all := make([]window, count)
	start = start.Add(-interval / 2)
	for _, reads := range times {
		reads = slices.DeleteFunc(slices.Clone(reads), func(readTime time.Time) bool { return readTime.Before(start) })
		if len(reads) == 0 {
			continue
		}
		slices.SortFunc(reads, time.Time.Compare)
		// A node that was missed at first still has its offset.
		place := reads[0].Add(-reads[0].Sub(start).Truncate(interval))
		counts := make([]int, count)
		for _, readTime := range reads {
			if i := int((readTime.Sub(place) + interval/2) / interval); i < count {
				counts[i]++
			}
		}
		for i, n := range counts {
			if n > 0 {
				all[i].read++
			}
			if n > 1 {
				all[i].twice++
			}
		}
	}
	return all
}

// gaps returns the longest time between two reads of each node, in order. start and end count as reads, so a node that was never read has the
// longest gap.
func gaps(times map[string][]time.Time, nodes []string, start, end time.Time) []time.Duration {
	all := make([]time.Duration, 0, len(nodes))
	for _, node := range nodes {
		reads := slices.DeleteFunc(slices.Clone(times[node]), func(readTime time.Time) bool { return readTime.Before(start) || readTime.After(end) })
		slices.SortFunc(reads, time.Time.Compare)
		last, longest := start, time.Duration(0)
		for _, readTime := range append(reads, end) {
			longest = max(longest, readTime.Sub(last))
			last = readTime
		}
		all = append(all, longest)
	}
	slices.Sort(all)
	return all
}
