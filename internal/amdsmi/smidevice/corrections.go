// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// CorrectUnifiedMemory takes the zeros off a GPU of which no memory can be visible, since it has none of its own but the machine's (MI300A): its
// size is told by KFD, which not every version of the tools asks, and fewer ask it how much is in use.
func CorrectUnifiedMemory(m *gpu.Memory) {
	zero := gpu.Some[int64](0)
	if m.VisibleLimit != zero {
		return
	}
	for _, v := range [...]*gpu.Opt[int64]{&m.Limit, &m.Usage, &m.VisibleLimit, &m.VisibleUsage} {
		if *v == zero {
			*v = gpu.Opt[int64]{}
		}
	}
}

// leastPower is what a GPU that is awake draws at least, in watts.
const leastPower = 0.3

// CorrectPower takes a draw of nothing at all for what it is: that of the second die of an MI250, whose power the first one tells
// for both, and which counts no energy either. One of milliwatts is watts that the driver took for them.
func CorrectPower(p *gpu.Power, energy gpu.Counter[float64]) {
	joules, _ := energy.Get()
	for _, watts := range [...]*gpu.Opt[float64]{&p.Draw, &p.Instant} {
		if w, ok := watts.Get(); ok && (w == 0 && joules == 0 || w > 0 && w < leastPower) {
			*watts = gpu.Opt[float64]{}
		}
	}
}
