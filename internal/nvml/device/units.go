// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// NVML's units in SI.
const (
	perMilli    = 1e-3 // milliwatts, millijoules
	perMega     = 1e6  // megahertz
	perMicro    = 1e-6 // microseconds
	perNano     = 1e-9 // nanoseconds
	bytesPerKiB = 1024
	bytesPerMiB = 1024 * bytesPerKiB
)

// fraction converts percent to a fraction. More than 100 % is not a measurement.
func fraction(percent uint32) (float64, bool) {
	return float64(percent) / 100, percent <= 100
}

// pipeFraction converts a percentage of GPM to a fraction. The counters of two samples are not read at one instant, so what is busy all the
// time may come out as a little more than 100 %; what is far above is not a measurement.
func pipeFraction(percent float64, ok bool) gpu.Opt[float64] {
	return known(min(percent/100, 1), ok && percent >= 0 && percent <= 105)
}

func known[T any](v T, ok bool) gpu.Opt[T] {
	if !ok {
		return gpu.Opt[T]{}
	}
	return gpu.Some(v)
}

// bytes is a number of bytes. The largest numbers mean that NVML has no value.
func bytes(v uint64) gpu.Opt[int64] { return known(library.Bytes(v)) }

// within is a number that is plausible within bounds. A value outside of them is what a driver returns instead of a value, or what is in
// its memory.
func within(v float64, ok bool, low, high float64) gpu.Opt[float64] {
	return known(v, ok && v >= low && v <= high)
}

// watts converts milliwatts.
func watts(v library.Value, ok bool) gpu.Opt[float64] { return within(v.Real*perMilli, ok, 0, 60_000) }

// hertz converts megahertz.
func hertz(v library.Value, ok bool) gpu.Opt[float64] { return within(v.Real*perMega, ok, 0, 60e9) }

// hertzLimit converts megahertz of a highest clock. Zero means no limit is reported.
func hertzLimit(v library.Value, ok bool) gpu.Opt[float64] { return hertz(v, ok && v.Real > 0) }

// celsius is a temperature or a limit. Some drivers return 255 °C and more instead of a value.
func celsius(v library.Value, ok bool) gpu.Opt[float64] { return within(v.Real, ok, -100, 200) }

// celsiusLimit is an absolute limit. 0 °C means that no limit is reported.
func celsiusLimit(v library.Value, ok bool) gpu.Opt[float64] { return celsius(v, ok && v.Real > 0) }

// memoryCelsius is the memory's temperature. 0 °C and -1 °C are what drivers return of memory without a sensor.
func memoryCelsius(v library.Value, ok bool) gpu.Opt[float64] {
	return celsius(v, ok && v.Real != 0 && v.Real != -1)
}

// signedCelsius is a temperature that NVML returns as an unsigned int, although a GPU in the cold is below zero.
func signedCelsius(v library.Value, ok bool) gpu.Opt[float64] { return celsius(v.Signed(), ok) }

// maxPCIe is more than any generation and any width (32 lanes) of PCIe. Some drivers return 255 or 65535 instead of a value.
const maxPCIe = 64

// pcieLink is a generation or a width. A link that is down has 0.
func pcieLink(v library.Value, ok bool) gpu.Opt[int64] {
	return known(int64(v.Unsigned), ok && v.Unsigned > 0 && v.Unsigned <= maxPCIe)
}

// flag is 0 or 1.
func flag(v library.Value, ok bool) gpu.Opt[bool] { return known(v.Real != 0, ok) }

// count is a count that the driver keeps.
func count(v int64, ok bool) gpu.Counter[int64] {
	if !ok {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(v)
}

// counter is count for a value as NVML reports it.
func counter(v library.Value, ok bool) gpu.Counter[int64] {
	n, whole := v.Count()
	return count(n, ok && whole)
}

// joules converts millijoules that the driver adds up.
func joules(v library.Value, ok bool) gpu.Counter[float64] { return total(v, ok, perMilli) }

// seconds converts nanoseconds that the driver adds up.
func seconds(v library.Value, ok bool) gpu.Counter[float64] { return total(v, ok, perNano) }

// total is a total that the driver keeps, in SI units.
func total(v library.Value, ok bool, unit float64) gpu.Counter[float64] {
	if !ok || v.Real < 0 {
		return gpu.Counter[float64]{}
	}
	return gpu.Total(v.Real * unit)
}

const (
	// earliestEpoch is the earliest time, in microseconds, that is taken for one since 1970: September 2001. Some drivers count the time
	// since the machine was booted instead, and as such it would be 31 years.
	earliestEpoch = 1_000_000_000_000_000
	// clockTolerance is by how much the driver's time may be ahead of ours without one of them having been set back.
	clockTolerance = 5 * time.Second
)

// micros is a time as the driver counts it.
func micros(t time.Time) uint64 { return uint64(max(t.UnixMicro(), 0)) }

// horizon is the latest time by the driver that is plausible when the machine's clock, from which the driver takes it, is at now. What is
// later was measured before the clock was set back. Times since boot are always earlier.
func horizon(now time.Time) uint64 { return max(earliestEpoch, micros(now.Add(clockTolerance))) }

// windowStart is the time from which samples are taken if no samples were seen before, in microseconds by the clock that now is of.
func windowStart(now uint64, window time.Duration) uint64 {
	if window <= 0 || window > firstWindow {
		window = firstWindow
	}
	return now - min(uint64(window.Microseconds()), now)
}

// firstWindow is how far back samples of processes are taken at the first read.
const firstWindow = 10 * time.Second
