// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import "github.com/otelgpu/gpureceiver/internal/gpu"

// wrapUnits is where an accumulator of 32 bits wraps: after 65,536 J, within minutes.
const wrapUnits = 1 << 32

// counts32 tells the revisions under which most firmware has an energy counter of 32 bits, whatever the size of the field.
func (r revision) counts32() bool { return r.format == 1 && r.content <= 3 }

// accumulated returns the joules by the counter of the table. capacity is the most that the board may draw, in watts.
func (b *board) accumulated(capacity gpu.Opt[float64]) gpu.Counter[float64] {
	units, ok := b.metrics.energy.Get()
	// A board that has drawn nothing since it was powered on is none: the second die of an MI250, which leaves the
	// counting to the first.
	if !ok || units == 0 {
		return gpu.Counter[float64]{}
	}
	turn := 0.0
	if b.metrics.revision.counts32() {
		turn = wrapUnits * energyUnit
	}
	return b.energy.Read(float64(units)*energyUnit, turn, capacity, b.now)
}
