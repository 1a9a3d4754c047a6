// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"math"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Dimension is what a unit measures. Values are in the SI unit of their dimension; memory is in bytes, ratios are fractions.
type Dimension uint8

// The dimensions of what the tools print.
const (
	Ratio Dimension = iota
	Watts
	Celsius
	Hertz
	Bytes   // of memory
	Traffic // bytes since the driver was loaded
	Joules
	Transfers // per second, of a PCIe lane
	Count     // of errors, lanes
	Looks     // of the firmware at its limiters: a count of up to 64 bits
	Volts
	Revolutions // a minute
	Seconds
	Bits // per second, of a link
)

// unit is how one unit is converted to SI. Fractions of the SI unit are divided, not multiplied, so that 41 % is 0.41 and not the next
// floating-point number.
type unit struct {
	dimension Dimension
	scale     float64
	per       float64 // 0: 1
}

// units are the units that the tools print. KB, MB and GB are powers of 1024: amd-smi divides by 1024·1024 and prints MB.
var units = map[string]unit{
	"%":  {dimension: Ratio, scale: 1, per: 100},
	"W":  {dimension: Watts, scale: 1},
	"mW": {dimension: Watts, scale: 1, per: 1e3},
	"uW": {dimension: Watts, scale: 1, per: 1e6},
	"kW": {dimension: Watts, scale: 1e3},
	"C":  {dimension: Celsius, scale: 1}, "°C": {dimension: Celsius, scale: 1},
	"mC": {dimension: Celsius, scale: 1, per: 1e3},
	"Hz": {dimension: Hertz, scale: 1}, "kHz": {dimension: Hertz, scale: 1e3}, "KHz": {dimension: Hertz, scale: 1e3},
	"MHz": {dimension: Hertz, scale: 1e6}, "Mhz": {dimension: Hertz, scale: 1e6}, "MHZ": {dimension: Hertz, scale: 1e6},
	"GHz": {dimension: Hertz, scale: 1e9}, "Ghz": {dimension: Hertz, scale: 1e9},
	"B": {dimension: Bytes, scale: 1}, "bytes": {dimension: Bytes, scale: 1},
	"KB": {dimension: Bytes, scale: 1 << 10}, "kB": {dimension: Bytes, scale: 1 << 10}, "KiB": {dimension: Bytes, scale: 1 << 10},
	"MB": {dimension: Bytes, scale: 1 << 20}, "MiB": {dimension: Bytes, scale: 1 << 20},
	"GB": {dimension: Bytes, scale: 1 << 30}, "GiB": {dimension: Bytes, scale: 1 << 30},
	"TB": {dimension: Bytes, scale: 1 << 40}, "TiB": {dimension: Bytes, scale: 1 << 40},
	"J": {dimension: Joules, scale: 1}, "mJ": {dimension: Joules, scale: 1, per: 1e3}, "uJ": {dimension: Joules, scale: 1, per: 1e6},
	"kJ":   {dimension: Joules, scale: 1e3},
	"GT/s": {dimension: Transfers, scale: 1e9}, "MT/s": {dimension: Transfers, scale: 1e6},
	"V": {dimension: Volts, scale: 1}, "mV": {dimension: Volts, scale: 1, per: 1e3},
	"RPM": {dimension: Revolutions, scale: 1}, "rpm": {dimension: Revolutions, scale: 1},
	"s": {dimension: Seconds, scale: 1}, "ms": {dimension: Seconds, scale: 1, per: 1e3},
	"us": {dimension: Seconds, scale: 1, per: 1e6}, "ns": {dimension: Seconds, scale: 1, per: 1e9},
	"Gb/s": {dimension: Bits, scale: 1e9}, "Mb/s": {dimension: Bits, scale: 1e6},
}

// plausible are the limits of each dimension. The driver reports a missing value as the largest number of 16, 32 or 64 bits, which some
// versions of the tools print and scale like any other. Such values lie outside the limits.
var plausible = [...]struct{ low, high float64 }{
	Ratio:       {0, 1},
	Watts:       {0, 60_000},
	Celsius:     {-100, 250}, // 255 and 511 are all bits of a register
	Hertz:       {0, 60e9},
	Bytes:       {0, 1 << 50},
	Traffic:     {0, 1 << 62},
	Joules:      {0, 1e14},
	Transfers:   {0, 1e12},
	Count:       {0, math.MaxUint32 - 1}, // the driver adds two registers to get replays
	Looks:       {0, 1 << 62},
	Volts:       {1e-3, 60},  // 0 is how firmware says that it does not measure
	Revolutions: {0, 60_000}, // 65535 are all bits of a register
	Seconds:     {0, 1e10},
	Bits:        {1, 1e14},
}

// Quantity returns a value in SI; absent if it is not a plausible value of the dimension. unitless is the unit of values printed without
// one: versions that print no units use the units that later versions print.
func Quantity(v any, d Dimension, unitless string) gpu.Opt[float64] {
	number, name, ok := NumberOf(v)
	if !ok {
		return gpu.Opt[float64]{}
	}
	u := unit{dimension: Count, scale: 1}
	if name == "" {
		name = unitless
	}
	if d == Count || d == Looks {
		ok = name == ""
	} else if u, ok = units[name]; u.dimension != d && (d != Traffic || u.dimension != Bytes) {
		ok = false
	}
	if !ok {
		return gpu.Opt[float64]{}
	}
	number *= u.scale
	if u.per != 0 {
		number /= u.per
	}
	if !(number >= plausible[d].low && number <= plausible[d].high) || d == Celsius && number == noTemperature {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(number)
}

// noTemperature is what several versions print for a temperature that they could not read, in °C.
const noTemperature = -1

// MemoryTemperature returns the temperature of memory in °C; 0 means that the sensor does not exist.
func MemoryTemperature(v any) gpu.Opt[float64] {
	t := Quantity(v, Celsius, "C")
	if t == gpu.Some(0.0) {
		return gpu.Opt[float64]{}
	}
	return t
}

// Whole returns a quantity rounded to an integer.
func Whole(v gpu.Opt[float64]) gpu.Opt[int64] {
	f, ok := v.Get()
	if !ok {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(math.Round(f)))
}

// Total returns a quantity as a total that the driver keeps.
func Total(v gpu.Opt[float64]) gpu.Counter[int64] {
	i, ok := Whole(v).Get()
	if !ok {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(i)
}

// Mean returns the mean of the known values of a list, such as the values of several engines of one kind.
func Mean(values []gpu.Opt[float64]) gpu.Opt[float64] {
	var sum float64
	n := 0
	for _, v := range values {
		if f, ok := v.Get(); ok {
			sum += f
			n++
		}
	}
	if n == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(sum / float64(n))
}

// Higher returns the higher of two values, or the one that is known.
func Higher(a, b gpu.Opt[float64]) gpu.Opt[float64] {
	x, okX := a.Get()
	y, okY := b.Get()
	if okY && (!okX || y > x) {
		return b
	}
	return a
}
