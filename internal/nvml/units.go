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
	bytesPerMiB = 1024 * bytesPerKiB
)

// fraction turns percent into a fraction. More than all is no measurement.
func fraction(percent uint32) (float64, bool) {
	return float64(percent) / 100, percent <= 100
}

// share turns percent of GPM's into a fraction. The counters of two samples are not read at one instant, so that what is busy all the time may
// come out as a little more than that; what is far from it is no measurement.
func share(percent float64, ok bool) gpu.Opt[float64] {
	return known(min(percent/100, 1), ok && percent >= 0 && percent <= 105)
}

func known[T any](v T, ok bool) gpu.Opt[T] {
	if !ok {
		return gpu.Opt[T]{}
	}
	return gpu.Some(v)
}

// byteCount is a number of bytes; NVML says with the largest numbers that it has none.
func byteCount(v uint64) gpu.Opt[int64] { return known(bytes(v)) }

// within is a number that is believed within bounds. What is outside of them is what a driver has in the place of a value, or what
// lies in its memory.
func within(v float64, ok bool, low, high float64) gpu.Opt[float64] {
	return known(v, ok && v >= low && v <= high)
}

// watts is a value that NVML has in milliwatts.
func watts(v value, ok bool) gpu.Opt[float64] { return within(v.real*perMilli, ok, 0, 60_000) }

// hertz is a value that NVML has in megahertz.
func hertz(v value, ok bool) gpu.Opt[float64] { return within(v.real*perMega, ok, 0, 60e9) }

func celsius(v value, ok bool) gpu.Opt[float64] { return within(v.real, ok, -100, 1000) }

// link is what a PCIe link has; one that is down has 0.
func link(v value, ok bool) gpu.Opt[int64] { return known(int64(v.unsigned), ok && v.unsigned > 0) }

// flag reads a field that is 0 or 1.
func flag(v value, ok bool) gpu.Opt[bool] { return known(v.real != 0, ok) }

// counted is a count that the driver keeps.
func counted(v int64, ok bool) gpu.Counter[int64] {
	if !ok {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(v)
}

// rows is a count that the binding makes a signed number of.
func rows(n int) gpu.Counter[int64] {
	v, _ := unsigned(uint32(n))
	return counted(v.total())
}

// amount is a total in SI units that the driver keeps.
func amount(v value, ok bool, unit float64) gpu.Counter[float64] {
	if !ok || v.real < 0 {
		return gpu.Counter[float64]{}
	}
	return gpu.Total(v.real * unit)
}
