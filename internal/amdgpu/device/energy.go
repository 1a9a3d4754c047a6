// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// energyCounts is the count at which an accumulator of 32 bits wraps: in the finest unit after 65,536 J, within minutes.
const energyCounts = 1 << 32

// energyCounter follows the energy counter of the gpu_metrics table.
type energyCounter struct {
	unit      counter.EnergyUnit
	counter   counter.Wrapping
	suspended int64 // ms that the GPU was suspended in all, at the last read
}

// doubt says that the counter may have been set to 0 since the last read.
func (e *energyCounter) doubt() {
	e.counter.Doubt()
	e.unit.Forget()
}

// read returns the joules of a GPU: from the sensors if they have a counter, else from the table. It needs the power that was read.
func (e *energyCounter) read(r *reader, s sensors, table *gpumetrics.Table, d *gpu.Device, now time.Time) gpu.Counter[float64] {
	if microjoules, ok := r.number("energy", s.file("energy1_input")).Get(); ok {
		if microjoules < 0 {
			return gpu.Counter[float64]{}
		}
		return gpu.Total(float64(microjoules) / micro)
	}
	limit := d.Power.Limit[gpu.LimitEnforced].Or(d.Power.Limit[gpu.LimitMax])
	if table.Revision.Energy32() {
		limit = limit.Or(r.scaled("power limit", s.file("power1_cap_max"), micro, plausible.PowerLimit)) // by which a wrap is known
		e.noteSleep(r)
	}
	if _, known := e.unit.Known(d); !known && table.Energy.Known() && !d.Power.Draw.Known() { // if the power is not wanted
		draw, _ := readDraw(r, gpu.GroupPower, s, table)
		d = &gpu.Device{Power: gpu.Power{Draw: draw}}
	}
	return e.accumulated(table, d, counter.MaxPower(limit), now)
}

// noteSleep notes whether the GPU was suspended since the last read. Without power its counter starts from 0, which is not a wrap.
func (e *energyCounter) noteSleep(r *reader) {
	if ms, ok := readSuspendedTime(r); ok && ms != e.suspended {
		e.suspended = ms
		e.doubt()
	}
}

// accumulated returns the joules by the counter of the table. They are absent while its unit is not known.
func (e *energyCounter) accumulated(table *gpumetrics.Table, d *gpu.Device, maxPower float64, now time.Time) gpu.Counter[float64] {
	counts, ok := table.Energy.Get()
	// A counter of 0 is no value: the second die of an MI250 leaves the counting to the first.
	if !ok || counts == 0 {
		return gpu.Counter[float64]{}
	}
	wrapsAt := 0.0
	if table.Revision.Energy32() {
		wrapsAt = energyCounts
	}
	unit, ok := e.unit.Read(d, float64(counts), wrapsAt, maxPower, now)
	if !ok {
		return gpu.Counter[float64]{}
	}
	return e.counter.Read(float64(counts)*unit, wrapsAt*unit, maxPower, now)
}
