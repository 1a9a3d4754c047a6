// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const every = 30 * time.Second

func TestWindows(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	timesAt := func(seconds ...float64) []time.Time {
		var times []time.Time
		for _, s := range seconds {
			times = append(times, start.Add(time.Duration(s*float64(time.Second))))
		}
		return times
	}
	all := map[string][]time.Time{
		"even":        timesAt(-29, 1, 31, 61),
		"a bit late":  timesAt(0.1, 29.9, 60.2),
		"in disorder": timesAt(62, 2, 32),
		"one missed":  timesAt(5, 65),
		"twice":       timesAt(5, 35, 36, 65),
		"first not":   timesAt(40, 70),
		"before":      timesAt(-100),
		"between two": timesAt(-30.001, -0.003, 30.002, 60.001),
	}
	assert.Equal(t, []window{{read: 6}, {read: 6, twice: 1}, {read: 7}}, windows(all, start, every, 3))
}

func TestGaps(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	times := map[string][]time.Time{
		"even": {start.Add(50 * time.Second), start.Add(20 * time.Second), start.Add(80 * time.Second)},
		"gap":  {start.Add(-time.Second), start.Add(10 * time.Second), start.Add(75 * time.Second), start.Add(300 * time.Second)},
	}
	assert.Equal(t, []time.Duration{every, 65 * time.Second, 90 * time.Second}, gaps(times, []string{"even", "gap", "never"}, start, start.Add(90*time.Second)))
}
