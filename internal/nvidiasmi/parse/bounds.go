// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"math"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// real is a setter of a number that is believed within bounds. What is printed outside of them is what a driver has in the place of a
// value, or what lies in the tool's memory.
func bounded(quantity string, units []unit, low, high float64, to func(*builder) *gpu.Opt[float64]) setter {
	return func(b *builder, printed []byte) {
		if v, ok := number(printed, units); ok && v >= low && v <= high {
			*to(b) = gpu.Some(v)
			return
		}
		b.note(quantity, printed)
	}
}

// power is a setter of watts, of a GPU or its module. Where the driver does not tell a limit, nvidia-smi 535 prints what lies in its
// memory as one: half a megawatt, or three.
func watts(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return bounded(quantity, unitWatts, 0, 60_000, to)
}

// powerLimit is one of a limit. Zero is what lies in the tool's memory, too: no GPU runs within it.
func powerLimit(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return unlessZero(unitWatts, watts(quantity, to))
}

// share is a setter of a fraction of the time. More than all of it is no measurement.
func fraction(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return bounded(quantity, unitFraction, 0, 1, to)
}

func celsius(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return bounded(quantity, unitCelsius, -100, 1000, to)
}

func hertz(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return bounded(quantity, unitHertz, 0, 60e9, to)
}

// threshold is a setter of a temperature limit; 0 is how boards without it answer.
func threshold(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return unlessZero(unitCelsius, celsius(quantity, to))
}

// link is a setter of what a PCIe link has; one that is down has 0.
func pcieLink(quantity string, to func(*gpu.PCIe) *gpu.Opt[int64]) setter {
	return unlessZero(unitLanes, integerOf(quantity, unitLanes, func(b *builder) *gpu.Opt[int64] { return to(&device(b).PCIe) }))
}

func unlessZero(units []unit, set setter) setter {
	return func(b *builder, printed []byte) {
		if v, ok := number(printed, units); !ok || v != 0 {
			set(b, printed)
		}
	}
}

// noValue is a number with every bit set, by which NVML says that it has none. The tool prints it like any other.
const noValue = math.MaxUint32

// isMark tells whether a text is such a number, as the tool prints it of each type.
func isNoValue(printed []byte) bool {
	for _, mark := range []string{"4294967295", "18446744073709551615", "-1"} {
		if rest, ok := bytes.CutPrefix(printed, []byte(mark)); ok && digits(rest) == 0 {
			return true
		}
	}
	return false
}
