// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import (
	"encoding/binary"
	"math"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const percent = 100

// value reads a little-endian number; absent if all bits are ones.
func value(text []byte, size int) gpu.Opt[uint64] {
	var v, none uint64
	switch size {
	case 1:
		v, none = uint64(text[0]), math.MaxUint8
	case 2:
		v, none = uint64(binary.LittleEndian.Uint16(text)), math.MaxUint16
	case 4:
		v, none = uint64(binary.LittleEndian.Uint32(text)), math.MaxUint32
	default:
		v, none = binary.LittleEndian.Uint64(text), math.MaxUint64
	}
	if v == none {
		return gpu.Opt[uint64]{}
	}
	return gpu.Some(v)
}

// values reads numbers of one size that follow each other.
func values(text []byte, size int) []gpu.Opt[uint64] {
	all := make([]gpu.Opt[uint64], len(text)/size)
	for i := range all {
		all[i] = value(text[i*size:], size)
	}
	return all
}

// convert converts a number to the SI unit.
func convert(v gpu.Opt[uint64], validate func(float64) gpu.Opt[float64]) gpu.Opt[float64] {
	n, ok := v.Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	return validate(float64(n))
}

func temperature(v gpu.Opt[uint64]) gpu.Opt[float64] { return convert(v, plausible.Temperature) }

func memoryTemperature(v gpu.Opt[uint64]) gpu.Opt[float64] {
	return convert(v, plausible.MemoryTemperature)
}

func power(v gpu.Opt[uint64]) gpu.Opt[float64] { return convert(v, plausible.Power) }

// clock converts MHz to Hz.
func clock(v gpu.Opt[uint64]) gpu.Opt[float64] {
	return convert(v, func(mhz float64) gpu.Opt[float64] { return plausible.Clock(mhz * 1e6) })
}

// activity converts a percentage to a fraction.
func activity(v gpu.Opt[uint64]) gpu.Opt[float64] {
	return convert(v, func(n float64) gpu.Opt[float64] { return plausible.Fraction(n / percent) })
}

// meanActivity returns the mean of percentages of engines of one kind, as a fraction. Absent ones do not count.
func meanActivity(all []gpu.Opt[uint64]) gpu.Opt[float64] {
	var sum, engines float64
	for _, v := range all {
		if n, ok := v.Get(); ok && n <= percent {
			sum += float64(n)
			engines++
		}
	}
	if engines == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(sum / engines / percent)
}

// highest returns the highest of the values that are present.
func highest(all []gpu.Opt[uint64]) gpu.Opt[uint64] {
	var result gpu.Opt[uint64]
	for _, v := range all {
		n, ok := v.Get()
		if last, known := result.Get(); ok && (!known || n > last) {
			result = v
		}
	}
	return result
}

// linkUp converts the status of an XGMI link (enum amdgpu_xgmi_link_status): inactive, active, or not available.
func linkUp(status gpu.Opt[uint64]) gpu.Opt[bool] {
	if v, ok := status.Get(); ok && v <= 1 {
		return gpu.Some(v == 1)
	}
	return gpu.Opt[bool]{}
}
