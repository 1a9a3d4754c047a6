// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cadence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCadence(t *testing.T) {
	tests := []struct {
		name     string
		interval float64   // seconds
		gaps     []float64 // those below zero set the clock back
		want     []bool
	}{
		{"even", 30, []float64{30, 30, 31, 29}, []bool{true, true, true, true}},
		{"failed reads", 30, []float64{30, 90, 30, 60, 91}, []bool{true, true, true, true, false}},
		{"hours", 30, []float64{30, 7200, 30, 7200, 30}, []bool{true, false, true, false, true}},
		{"the first is too long", 30, []float64{91, 30, 30, 7200}, []bool{false, true, true, false}},
		{"a long interval", 600, []float64{600, 600, 1800, 1801}, []bool{true, true, true, false}},
		{"an interval of hours", 7200, []float64{7200, 7200, 21600, 21601}, []bool{true, true, true, false}},
		{"more nodes than there is time for", 10, []float64{120, 120, 130, 110, 361}, []bool{false, true, true, true, false}},
		{"hardly ever readable", 30, []float64{7200, 7200, 7200, 7200}, []bool{false, false, false, false}},
		{"clock set back", 30, []float64{30, -5000, 30, 95}, []bool{true, true, true, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
			c := New(seconds(tt.interval))
			now := time.Unix(1_700_000_000, 0)
			first := c.Next(now)
			assert.Equal(t, Span{End: now, Observed: true}, first)
			for i, gap := range tt.gaps {
				length := seconds(gap)
				now = now.Add(length)
				assert.Equal(t, Span{End: now, Length: max(length, 0), Observed: tt.want[i]}, c.Next(now), "gap %d", i)
			}
		})
	}
}
