// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// coldLine measures how long this machine takes to fetch a line of memory that is in no cache. A scrape after an idle interval consists
// mostly of such fetches, and neighbours on the same host change the time by a third within an hour: only figures with a similar coldLine
// are comparable.
func coldLine() time.Duration {
	const (
		count = 2 << 20 // 128 MiB: several times the size of a cache
		steps = 1 << 18
		times = 7
	)
	type line struct {
		next uint32
		_    [15]uint32
	}
	lines := make([]line, count)
	order := rand.Perm(count) // each line points to a random next one, so that the CPU cannot prefetch
	for i, index := range order {
		lines[index].next = uint32(order[(i+1)%count])
	}
	var index uint32
	durations := make([]time.Duration, times)
	for i := range durations {
		start := time.Now()
		for range steps {
			index = lines[index].next
		}
		durations[i] = time.Since(start) / steps
	}
	runtime.KeepAlive(index)
	slices.Sort(durations)
	return durations[times/2]
}
