// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"math"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// dimension is what a unit measures.
type dimension uint8

const (
	Ratio dimension = iota
	Watts
	Celsius
	Hertz
	Bytes   // of memory
	Traffic // bytes since the driver was loaded
	Joules
	Transfers // per second, of a PCIe lane
	Count     // of errors, lanes
)

// unit is how one unit is brought to SI. Parts of the SI unit are divided by how many there are of them to it, so that 41 %
// is 0.41 as it is everywhere else, and not the next number above.
type unit struct {
	dimension dimension
	scale     float64
	per       float64 // 0: 1
}

// units are those that the tools print. KB, MB and GB are powers of 1024: amd-smi divides by 1024·1024 and calls it MB.
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
}

// plausible are the values between which a quantity is believed. Outside lie the largest numbers of 16, 32 and 64 bits,
// with which the driver says that it has no value, and which some versions of the tools print and scale like any other.
var plausible = [...]struct{ low, high float64 }{
	Ratio:     {0, 1},
	Watts:     {0, 60_000},
	Celsius:   {-100, 250}, // 255 and 511 are all bits of a register
	Hertz:     {0, 60e9},
	Bytes:     {0, 1 << 50},
	Traffic:   {0, 1 << 62},
	Joules:    {0, 1e14},
	Transfers: {0, 1e12},
	Count:     {0, math.MaxUint32 - 1}, // of replays the driver adds up two registers
}

// Quantity returns a value in SI. unitless is the unit of values that are printed without: those of the versions before
// units were printed are in the units that later versions print.
func Quantity(v any, d dimension, unitless string) gpu.Opt[float64] {
	number, name, ok := NumberOf(v)
	if !ok {
		return gpu.Opt[float64]{}
	}
	u := unit{dimension: Count, scale: 1}
	if name == "" {
		name = unitless
	}
	if d == Count {
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
	if !(number >= plausible[d].low && number <= plausible[d].high) {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(number)
}

// Whole returns a quantity as an integer.
func Whole(v gpu.Opt[float64]) gpu.Opt[int64] {
	f, ok := v.Get()
	if !ok {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(math.Round(f)))
}

// Total returns a quantity as a counter of the driver.
func Total(v gpu.Opt[float64]) gpu.Counter[int64] {
	i, ok := Whole(v).Get()
	if !ok {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(i)
}

// Mean returns the mean of those values of a list that are known: engines of one kind that a device has several of.
func Mean(values []any, d dimension, unitless string) gpu.Opt[float64] {
	var sum float64
	n := 0
	for _, v := range values {
		if f, ok := Quantity(v, d, unitless).Get(); ok {
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
