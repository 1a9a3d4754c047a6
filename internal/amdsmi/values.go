// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// dimension is what a unit measures.
type dimension uint8

const (
	ratio dimension = iota
	watts
	celsius
	hertz
	octets  // of memory
	traffic // bytes since the driver was loaded
	joules
	transfers // per second, of a PCIe lane
	count     // of errors, lanes
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
	"%":  {dimension: ratio, scale: 1, per: 100},
	"W":  {dimension: watts, scale: 1},
	"mW": {dimension: watts, scale: 1, per: 1e3},
	"uW": {dimension: watts, scale: 1, per: 1e6},
	"kW": {dimension: watts, scale: 1e3},
	"C":  {dimension: celsius, scale: 1}, "°C": {dimension: celsius, scale: 1},
	"mC": {dimension: celsius, scale: 1, per: 1e3},
	"Hz": {dimension: hertz, scale: 1}, "kHz": {dimension: hertz, scale: 1e3}, "KHz": {dimension: hertz, scale: 1e3},
	"MHz": {dimension: hertz, scale: 1e6}, "Mhz": {dimension: hertz, scale: 1e6}, "MHZ": {dimension: hertz, scale: 1e6},
	"GHz": {dimension: hertz, scale: 1e9}, "Ghz": {dimension: hertz, scale: 1e9},
	"B": {dimension: octets, scale: 1}, "bytes": {dimension: octets, scale: 1},
	"KB": {dimension: octets, scale: 1 << 10}, "kB": {dimension: octets, scale: 1 << 10}, "KiB": {dimension: octets, scale: 1 << 10},
	"MB": {dimension: octets, scale: 1 << 20}, "MiB": {dimension: octets, scale: 1 << 20},
	"GB": {dimension: octets, scale: 1 << 30}, "GiB": {dimension: octets, scale: 1 << 30},
	"TB": {dimension: octets, scale: 1 << 40}, "TiB": {dimension: octets, scale: 1 << 40},
	"J": {dimension: joules, scale: 1}, "mJ": {dimension: joules, scale: 1, per: 1e3}, "uJ": {dimension: joules, scale: 1, per: 1e6},
	"kJ":   {dimension: joules, scale: 1e3},
	"GT/s": {dimension: transfers, scale: 1e9}, "MT/s": {dimension: transfers, scale: 1e6},
}

// plausible are the values between which a quantity is believed. Outside lie the largest numbers of 16, 32 and 64 bits,
// with which the driver says that it has no value, and which some versions of the tools print and scale like any other.
var plausible = [...]struct{ low, high float64 }{
	ratio:     {0, 1},
	watts:     {0, 60_000},
	celsius:   {-100, 250}, // 255 and 511 are all bits of a register
	hertz:     {0, 60e9},
	octets:    {0, 1 << 50},
	traffic:   {0, 1 << 62},
	joules:    {0, 1e14},
	transfers: {0, 1e12},
	count:     {0, math.MaxUint32 - 1}, // of replays the driver adds up two registers
}

// quantity returns a value in SI. unitless is the unit of values that are printed without: those of the versions before
// units were printed are in the units that later versions print.
func quantity(v any, d dimension, unitless string) gpu.Opt[float64] {
	number, name, ok := numberOf(v)
	if !ok {
		return gpu.Opt[float64]{}
	}
	u := unit{dimension: count, scale: 1}
	if name == "" {
		name = unitless
	}
	if d == count {
		ok = name == ""
	} else if u, ok = units[name]; u.dimension != d && (d != traffic || u.dimension != octets) {
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

// numberOf takes a value and its unit from any of the forms in which they are printed: 21, "21", "21 W",
// {"value": 21, "unit": "W"}, {"value": "21", "unit": "W"}.
func numberOf(v any) (number float64, unit string, ok bool) {
	switch v := v.(type) {
	case json.Number:
		number, err := v.Float64()
		return number, "", err == nil
	case string:
		number, unit, ok = leadingNumber(v)
		return number, unit, ok && meaningful(v)
	case map[string]any:
		inner, found := v["value"]
		if !found {
			return 0, "", false
		}
		if _, nested := inner.(map[string]any); nested {
			return 0, "", false
		}
		number, unit, ok = numberOf(inner)
		if text, _ := v["unit"].(string); ok && meaningful(text) {
			unit = strings.TrimSpace(text)
		}
		return number, unit, ok
	default:
		return 0, "", false
	}
}

// whole returns a quantity as an integer.
func whole(v gpu.Opt[float64]) gpu.Opt[int64] {
	f, ok := v.Get()
	if !ok {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(math.Round(f)))
}

// total returns a quantity as a counter of the driver.
func total(v gpu.Opt[float64]) gpu.Counter[int64] {
	i, ok := whole(v).Get()
	if !ok {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(i)
}

// mean returns the mean of those values of a list that are known: engines of one kind that a device has several of.
func mean(values []any, d dimension, unitless string) gpu.Opt[float64] {
	var sum float64
	n := 0
	for _, v := range values {
		if f, ok := quantity(v, d, unitless).Get(); ok {
			sum += f
			n++
		}
	}
	if n == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(sum / float64(n))
}

// pcieGenerations are the speeds of a lane in GT/s.
var pcieGenerations = [...]float64{2.5, 5, 8, 16, 32, 64, 128}

// generation returns the PCIe generation that has a lane of this speed in transfers per second.
func generation(speed gpu.Opt[float64]) gpu.Opt[int64] {
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
