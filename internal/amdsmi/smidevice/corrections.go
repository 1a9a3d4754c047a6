// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// CorrectMemory removes the zeros of a GPU whose size of memory was not read, or that has no memory of its own, but uses the machine's
// (MI300A), which shows as a visible memory of 0. Only KFD knows the size of the latter. Not every version of the tools asks KFD, and
// fewer ask it how much is in use.
func CorrectMemory(m *gpu.Memory) {
	zero := gpu.Some[int64](0)
	if m.VisibleLimit != zero && m.Limit != zero {
		return
	}
	for _, v := range [...]*gpu.Opt[int64]{&m.Limit, &m.Usage, &m.VisibleLimit, &m.VisibleUsage} {
		if *v == zero {
			*v = gpu.Opt[int64]{}
		}
	}
}

// minPower is the least that a GPU draws that is awake, in watts.
const minPower = 0.3

// CorrectPower removes an invalid draw. The second die of an MI250 has a draw of 0 without energy, and the first die reports power and
// energy of both. A draw of milliwatts comes from firmware that reports watts although the driver expects milliwatts.
func CorrectPower(p *gpu.Power, energy gpu.Counter[float64]) {
	joules, _ := energy.Get()
	for _, watts := range [...]*gpu.Opt[float64]{&p.Draw, &p.Instant} {
		if w, ok := watts.Get(); ok && (w == 0 && joules == 0 || w > 0 && w < minPower) {
			*watts = gpu.Opt[float64]{}
		}
	}
}
