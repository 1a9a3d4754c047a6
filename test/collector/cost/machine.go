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

// coldLine is how long this machine takes to fetch a line of memory that is in no cache. A scrape after an idle interval is
// mostly that, and neighbours on the same host change it by a third within an hour: figures are only comparable with it.
func coldLine() time.Duration {
	const (
		count = 2 << 20 // 128 MiB: several times what a cache holds
		steps = 1 << 18
		times = 7
	)
	type line struct {
		next uint32
		_    [15]uint32
	}
	lines := make([]line, count)
	order := rand.Perm(count) // each line leads to the next at random, so that none can be fetched ahead
	for i, at := range order {
		lines[at].next = uint32(order[(i+1)%count])
	}
	var at uint32
	taken := make([]time.Duration, times)
	for i := range taken {
		began := time.Now()
		for range steps {
			at = lines[at].next
		}
		taken[i] = time.Since(began) / steps
	}
	runtime.KeepAlive(at)
	slices.Sort(taken)
	return taken[times/2]
}
