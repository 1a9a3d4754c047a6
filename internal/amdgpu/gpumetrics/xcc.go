// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import "github.com/otelgpu/gpureceiver/internal/gpu"

// newXCCs returns the XCCs up to the last one that has a value.
func newXCCs(busy, belowPower, belowThermal, lowUse []gpu.Opt[uint64]) []XCC {
	value := func(all []gpu.Opt[uint64], i int) gpu.Opt[uint64] {
		if i >= len(all) {
			return gpu.Opt[uint64]{}
		}
		return all[i]
	}
	var known, all []XCC
	for i := range min(MaxXCCs, max(len(busy), len(belowPower), len(belowThermal), len(lowUse))) {
		x := XCC{activity(value(busy, i)), value(belowPower, i), value(belowThermal, i), value(lowUse, i)}
		all = append(all, x)
		if x != (XCC{}) {
			known = all
		}
	}
	return known
}

// joinXCCs returns the XCCs of all partitions. Each partition gets as many as the largest one has.
func joinXCCs(partitions [][]XCC) []XCC {
	maxXCCs, last := 0, 0
	for i, p := range partitions {
		maxXCCs = max(maxXCCs, len(p))
		if len(p) > 0 {
			last = i + 1
		}
	}
	if maxXCCs == 0 {
		return nil
	}
	xccs := make([]XCC, maxXCCs*last)
	for i, p := range partitions {
		copy(xccs[min(i*maxXCCs, len(xccs)):], p)
	}
	return xccs
}
