// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// reading is what a counter shows and what is made of it.
type reading struct {
	after time.Duration // the reading before
	shown float64
	total float64
	anew  bool // counting begins anew here
}

func TestMeter(t *testing.T) {
	const (
		turn = 65536.0
		step = 30 * time.Second
	)
	for name, c := range map[string]struct {
		turn, watts float64
		readings    []reading
	}{
		"wraps": {turn, 300, []reading{
			{shown: 65000, total: 65000},
			{after: step, shown: 8464, total: turn + 8464},
			{after: step, shown: 17464, total: turn + 17464},
			{after: 2 * time.Minute, shown: 60000, total: turn + 60000},
			{after: step, shown: 2000, total: 2*turn + 2000},
		}},
		"no cap is told": {turn, 0, []reading{
			{shown: 65000, total: 65000},
			{after: step, shown: 8464, total: turn + 8464},
			{after: time.Minute, shown: 20000, anew: true},
			{after: step, shown: 29000, total: 9000},
		}},
		"a cap of nothing is none": {turn, -1, []reading{
			{shown: 65000, total: 65000},
			{after: step, shown: 8464, total: turn + 8464},
		}},
		"so long that it may have wrapped unseen": {turn, 300, []reading{
			{shown: 1000, total: 1000},
			{after: 3 * time.Minute, shown: 9000, anew: true},
			{after: step, shown: 12000, total: 3000},
			{after: time.Minute, shown: 30000, total: 21000},
			{after: 3 * time.Minute, shown: 31000, anew: true},
			{after: 3 * time.Minute, shown: 32000, anew: true},
			{after: step, shown: 33000, total: 1000},
		}},
		"wraps after counting has begun anew": {turn, 300, []reading{
			{shown: 1000, total: 1000},
			{after: 3 * time.Minute, shown: 60000, anew: true},
			{after: step, shown: 464, total: 6000},
		}},
		"falls by more than the board can have drawn": {turn, 300, []reading{
			{shown: 40000, total: 40000},
			{after: step, shown: 50, anew: true},
			{after: step, shown: 550, total: 500},
		}},
		"does not wrap": {0, 750, []reading{
			{shown: 1000, total: 1000},
			{after: time.Hour, shown: 10, total: 10},
			{after: time.Hour, shown: 1 << 40, total: 1 << 40},
		}},
		"shows more than one that wraps there can": {turn, 750, []reading{
			{shown: 65535, total: 65535},
			{after: time.Second, shown: 65537, total: 65537},
			{after: time.Hour, shown: 900000, total: 900000},
			{after: step, shown: 12, total: 12},
			{after: step, shown: 300, total: 300},
		}},
		"stands still": {turn, 300, []reading{
			{shown: 60000, total: 60000},
			{after: step, shown: 60000, total: 60000},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var m Meter
			now, since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Time{}
			for i, r := range c.readings {
				now = now.Add(r.after)
				var capacity gpu.Opt[float64]
				if c.watts != 0 {
					capacity = gpu.Some(c.watts)
				}
				joules := m.Read(r.shown, c.turn, capacity, now)
				if r.anew {
					since = now
					require.False(t, joules.Known(), "reading %d", i)
					continue
				}
				total, ok := joules.Get()
				require.True(t, ok, "reading %d", i)
				assert.InDelta(t, r.total, total, 1e-6, "reading %d", i)
				assert.Equal(t, since, joules.Since(), "reading %d", i)
			}
		})
	}
}

// A board whose cap reads as 0 has one that cannot be read.
func TestMeterOfACapOfZero(t *testing.T) {
	var m Meter
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m.Read(65000, 65536, gpu.Some(0.0), now)
	assert.Equal(t, gpu.Total(65536+464.0), m.Read(464, 65536, gpu.Some(0.0), now.Add(10*time.Second)))
}
