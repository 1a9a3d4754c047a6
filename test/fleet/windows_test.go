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
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds ...float64) []time.Time {
		var times []time.Time
		for _, s := range seconds {
			times = append(times, from.Add(time.Duration(s*float64(time.Second))))
		}
		return times
	}
	all := map[string][]time.Time{
		"even":        at(-29, 1, 31, 61),
		"a bit late":  at(0.1, 29.9, 60.2),
		"in disorder": at(62, 2, 32),
		"one missed":  at(5, 65),
		"twice":       at(5, 35, 36, 65),
		"first not":   at(40, 70),
		"before":      at(-100),
		"between two": at(-30.001, -0.003, 30.002, 60.001),
	}
	assert.Equal(t, []window{{read: 6}, {read: 6, twice: 1}, {read: 7}}, windows(all, from, every, 3))
}

func TestGaps(t *testing.T) {
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	times := map[string][]time.Time{
		"even": {from.Add(50 * time.Second), from.Add(20 * time.Second), from.Add(80 * time.Second)},
		"gap":  {from.Add(-time.Second), from.Add(10 * time.Second), from.Add(75 * time.Second), from.Add(300 * time.Second)},
	}
	assert.Equal(t, []time.Duration{every, 65 * time.Second, 90 * time.Second}, gaps(times, []string{"even", "gap", "never"}, from, from.Add(90*time.Second)))
}
