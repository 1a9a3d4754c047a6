// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"math"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// pcieGenerations are the speeds of a lane in GT/s.
var pcieGenerations = [...]float64{2.5, 5, 8, 16, 32, 64, 128}

// PCIeGeneration returns the PCIe generation whose lanes have this speed in transfers per second.
func PCIeGeneration(speed gpu.Opt[float64]) gpu.Opt[int64] {
	f, ok := speed.Get()
	if !ok {
		return gpu.Opt[int64]{}
	}
	for i, g := range pcieGenerations {
		if math.Abs(f/1e9-g) < 0.05*g {
			return gpu.Some(int64(i + 1))
		}
	}
	return gpu.Opt[int64]{}
}

// LinkWidth returns the number of lanes of a PCIe link; absent if it is not between 1 and 32.
func LinkWidth(v any) gpu.Opt[int64] {
	n, ok := Quantity(v, Count, "").Get()
	if !ok {
		return gpu.Opt[int64]{}
	}
	return Lanes(n)
}

// Lanes returns a number of lanes; absent if it is not between 1 and 32.
func Lanes(n float64) gpu.Opt[int64] {
	if n < 1 || n > 32 {
		return gpu.Opt[int64]{}
	}
	return Whole(gpu.Some(n))
}
