// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	wrapUnits = 1 << 32 // of an accumulator of 32 bits
	// surge is by how much a board may draw more than its cap over a while.
	surge = 1.5
	// unlimited is what is taken for the cap of a board that has none that can be read, in watts: more than any board with a
	// counter of 32 bits has, and little enough for reads that are 30 s apart.
	unlimited = 1000.0
)

// counts32 tells the revisions under which most firmware has an energy counter of 32 bits, whatever the size of the field.
func (r revision) counts32() bool { return r.format == 1 && r.content <= 3 }

// accumulator follows the firmware's energy counter. Up to revision 1.3 of the table most firmware has 32 bits of it, which
// wrap after 65,536 J: within minutes. A wrap is counted where no second one can have happened unseen; else counting begins anew.
type accumulator struct {
	last  uint64
	at    time.Time
	wraps uint64
	// Where something was missed, counting has begun anew, from base on.
	since time.Time
	base  uint64
}

// read returns the joules by the counter of a table. capacity is the most that the board may draw, in watts.
func (a *accumulator) read(m *metrics, capacity gpu.Opt[float64], now time.Time) gpu.Counter[float64] {
	units, ok := m.energy.Get()
	// A board that has drawn nothing since it was powered on is none: the second die of an MI250, which leaves the
	// counting to the first.
	if !ok || units == 0 {
		return gpu.Counter[float64]{}
	}
	narrow := m.revision.counts32() && units < wrapUnits && a.last < wrapUnits
	switch {
	case a.at.IsZero():
	case !narrow:
		if units < a.last {
			*a = accumulator{}
		}
	default:
		watts, ok := capacity.Get()
		if !ok || watts <= 0 {
			watts = unlimited
		}
		most := watts * surge * now.Sub(a.at).Seconds()
		wrapped := units < a.last
		passed := float64((units-a.last)&(wrapUnits-1)) * energyUnit
		switch {
		case most > wrapUnits*energyUnit, wrapped && passed > most:
			// Wraps may have gone by unseen, or the counter was reset.
			*a = accumulator{since: now, base: units}
		case wrapped:
			a.wraps++
		}
	}
	a.last, a.at = units, now
	return a.counter()
}

func (a *accumulator) counter() gpu.Counter[float64] {
	joules := float64(a.wraps*wrapUnits+a.last-a.base) * energyUnit
	if a.since.IsZero() {
		return gpu.Total(joules)
	}
	return gpu.TotalSince(joules, a.since)
}
