// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

// The units of NVML, in SI.
const (
	perMilli    = 1e-3 // milliwatts, millijoules
	perMega     = 1e6  // megahertz
	perNano     = 1e-9 // nanoseconds
	bytesPerKiB = 1024
)

// fraction turns percent into a fraction. More than all is no measurement.
func fraction(percent uint32) (float64, bool) {
	return float64(percent) / 100, percent <= 100
}

func known[T any](v T, ok bool) gpu.Opt[T] {
	if !ok {
		return gpu.Opt[T]{}
	}
	return gpu.Some(v)
}

// byteCount is a number of bytes; NVML says with the largest numbers that it has none.
func byteCount(v uint64) gpu.Opt[int64] { return known(bytes(v)) }

// watts is a value that NVML has in milliwatts.
func watts(v value, ok bool) gpu.Opt[float64] {
	return known(v.real*perMilli, ok && v.real >= 0)
}

// flag reads a field that is 0 or 1.
func flag(v value, ok bool) gpu.Opt[bool] { return known(v.real != 0, ok) }

// counted is a count that the driver keeps.
func counted(v int64, ok bool) gpu.Counter[int64] {
	if !ok {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(v)
}

// amount is a total in SI units that the driver keeps.
func amount(v value, ok bool, unit float64) gpu.Counter[float64] {
	if !ok || v.real < 0 {
		return gpu.Counter[float64]{}
	}
	return gpu.Total(v.real * unit)
}
