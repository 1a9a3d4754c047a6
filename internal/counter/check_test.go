// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package counter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The reads are 10 s apart. The counter rises by 1,050 a second at the most: 10,500 from read to read.
func TestCheck(t *testing.T) {
	const (
		before = 22_543_297
		after  = 22_543_311
	)
	for name, tt := range map[string]struct {
		values []float64
		want   []Verdict
		reset  int // the read that shows it first
	}{
		"goes on":                        {[]float64{before, before, after}, []Verdict{Continued, Continued, Continued}, 0},
		"low once":                       {[]float64{before, 200, after}, []Verdict{Continued, Doubtful, Continued}, 0},
		"0 once":                         {[]float64{before, 0, after}, []Verdict{Continued, Doubtful, Continued}, 0},
		"high once":                      {[]float64{before, 99_999_999_999, after}, []Verdict{Continued, Doubtful, Continued}, 0},
		"low, then high":                 {[]float64{before, 200, 99_999_999_999, after}, []Verdict{Continued, Doubtful, Doubtful, Continued}, 0},
		"high, then low":                 {[]float64{before, 99_999_999_999, 0, after}, []Verdict{Continued, Doubtful, Doubtful, Continued}, 0},
		"reset":                          {[]float64{before, 200, 207, 300}, []Verdict{Continued, Doubtful, Reset, Continued}, 1},
		"reset, and stands still":        {[]float64{before, 0, 0}, []Verdict{Continued, Doubtful, Reset}, 1},
		"reset between two wrong reads":  {[]float64{before, 99_999_999_999, 200, 210}, []Verdict{Continued, Doubtful, Doubtful, Reset}, 2},
		"reset twice":                    {[]float64{before, 200, 100, 110}, []Verdict{Continued, Doubtful, Doubtful, Reset}, 2},
		"the most that is possible":      {[]float64{before, before + 10_500}, []Verdict{Continued, Continued}, 0},
		"more, and it stays there":       {[]float64{0, 22_000, 32_000}, []Verdict{Continued, Doubtful, Continued}, 0},
		"always more":                    {[]float64{0, 22_000, 44_000, 66_000, 88_000}, []Verdict{Continued, Doubtful, Continued, Doubtful, Continued}, 0},
		"a slow read":                    {[]float64{0, 12_000, 21_000}, []Verdict{Continued, Doubtful, Continued}, 0},
		"the first is wrong, and is low": {[]float64{200, before, after}, []Verdict{Continued, Doubtful, Continued}, 0},
		"the first is wrong, and high":   {[]float64{99_999_999_999, before, after}, []Verdict{Continued, Doubtful, Reset}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var c Check
			timeAt := func(i int) time.Time { return start.Add(time.Duration(i) * 10 * time.Second) }
			for i, value := range tt.values {
				verdict, reset := c.Next(Reading{value, timeAt(i)}, 1050, 0)
				assert.Equal(t, tt.want[i], verdict, "read %d", i)
				if verdict == Reset {
					assert.Equal(t, Reading{tt.values[tt.reset], timeAt(tt.reset)}, reset)
				}
			}
		})
	}
}

// A count of errors can rise by any number. Only a fall is doubtful.
func TestCheckUnlimited(t *testing.T) {
	var c Check
	var got []Verdict
	for i, value := range []float64{5, 0, 5, 1e9, 1e9, 0, 2, 3} {
		verdict, _ := c.Next(Reading{value, start.Add(time.Duration(i) * time.Second)}, Unlimited, 0)
		got = append(got, verdict)
	}
	assert.Equal(t, []Verdict{Continued, Doubtful, Continued, Continued, Continued, Doubtful, Reset, Continued}, got)
}

// Two reads at nearly one time may show a counter at times a second apart. A clock that was set back does not make a rise impossible.
func TestCheckTimes(t *testing.T) {
	var c Check
	for _, r := range []Reading{{0, start}, {1000, start.Add(time.Millisecond)}, {2000, start.Add(-time.Hour)}} {
		verdict, _ := c.Next(r, 1050, 0)
		assert.Equal(t, Continued, verdict)
	}
}
