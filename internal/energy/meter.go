// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package energy makes totals that do not fall of the energy counters of firmware that has few bits for them.
package energy

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// surge is by how much a board may draw more than its cap over a while.
	surge = 1.5
	// unlimited is what is taken for the cap of a board that has none that can be read, in watts: more than any board with a
	// counter of 32 bits has, and little enough for reads that are 30 s apart.
	unlimited = 1000.0
)

// Meter follows one counter. A wrap is counted where no second one can have happened unseen; else counting begins anew. The zero
// Meter has read nothing yet.
type Meter struct {
	last    float64   // what the counter showed
	at      time.Time // when
	wrapped float64   // joules of the wraps
	// Where something was missed, counting has begun anew, from base on.
	since time.Time
	base  float64

	doubtful bool
}

// Doubt says that the counter may have been set to 0 since it was read: if it shows less at the next read, that is no wrap.
func (m *Meter) Doubt() { m.doubtful = true }

// Read returns the joules that were counted, by a counter that shows so many now and starts at 0 again at turn; one that shows more
// than that, or whose turn is 0, does not wrap. capacity is the most that the board may draw, in watts.
//
// Nothing is returned where counting begins anew: where the reads are so far apart that it does with each, there is no energy to
// be told, which is not 0.
func (m *Meter) Read(shown, turn float64, capacity gpu.Opt[float64], now time.Time) gpu.Counter[float64] {
	before := *m
	m.last, m.at, m.doubtful = shown, now, false
	fell := shown < before.last
	switch narrow := shown < turn && before.last < turn; {
	case before.at.IsZero():
	case narrow:
		watts, ok := capacity.Get()
		if !ok || watts <= 0 {
			watts = unlimited
		}
		most := watts * surge * now.Sub(before.at).Seconds()
		if most > turn || fell && (before.doubtful || shown-before.last+turn > most) {
			// Wraps may have gone by unseen, or the counter was reset.
			*m = Meter{last: shown, at: now, since: now, base: shown}
			return gpu.Counter[float64]{}
		}
		if fell {
			m.wrapped += turn
		}
	case fell: // a total of its own that has fallen
		*m = Meter{last: shown, at: now}
	}
	total := m.wrapped + shown - m.base
	if m.since.IsZero() {
		return gpu.Total(total)
	}
	return gpu.TotalSince(total, m.since)
}
