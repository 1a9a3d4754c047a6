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

// wrapUnits is where an accumulator of 32 bits wraps: after 65,536 J, within minutes.
const wrapUnits = 1 << 32

// energyCounter follows the energy counter of the gpu_metrics table.
type energyCounter struct {
	counter   counter.Wrapping
	suspended int64 // ms that the GPU was suspended in all, at the last read
}

// read returns the joules: from the sensors where they have a counter, else from the table. limit is the power limit in watts,
// where it was read.
func (e *energyCounter) read(
	r *reader, s sensors, table *gpumetrics.Table, limit gpu.Opt[float64], now time.Time,
) gpu.Counter[float64] {
	if microjoules, ok := r.number("energy", s.file("energy1_input")).Get(); ok {
		if microjoules < 0 {
			return gpu.Counter[float64]{}
		}
		return gpu.Total(float64(microjoules) / micro)
	}
	if table.Revision.Energy32() {
		limit = limit.Or(r.scaled("power limit", s.file("power1_cap_max"), micro, plausible.PowerLimit)) // by which a wrap is known
		e.noteSleep(r)
	}
	return e.accumulated(table, limit, now)
}

// noteSleep notes whether the GPU was suspended since the last read. Without power its counter starts from 0, which is no wrap.
func (e *energyCounter) noteSleep(r *reader) {
	if ms, ok := readSuspendedTime(r); ok && ms != e.suspended {
		e.suspended = ms
		e.counter.Doubt()
	}
}

// accumulated returns the joules by the counter of the table.
func (e *energyCounter) accumulated(table *gpumetrics.Table, limit gpu.Opt[float64], now time.Time) gpu.Counter[float64] {
	units, ok := table.Energy.Get()
	// A counter of 0 is none: the second die of an MI250 leaves the counting to the first.
	if !ok || units == 0 {
		return gpu.Counter[float64]{}
	}
	wrapsAt := 0.0
	if table.Revision.Energy32() {
		wrapsAt = wrapUnits * gpumetrics.EnergyUnit
	}
	return e.counter.Read(float64(units)*gpumetrics.EnergyUnit, wrapsAt, counter.MaxPower(limit), now)
}
