// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// setter stores a printed value. It returns false for a text that is not a value of the quantity.
type setter func(b *builder, printed []byte) bool

func device(b *builder) *gpu.Device { return &b.gpu.Device }

// valueOf returns a setter of what read returns.
func valueOf[T any](read func(printed []byte) (T, bool), target func(*builder) *gpu.Opt[T]) setter {
	return func(b *builder, printed []byte) bool {
		v, ok := read(printed)
		if ok {
			*target(b) = gpu.Some(v)
		}
		return ok
	}
}

// integerOf returns a setter of a whole number that is not negative.
func integerOf(units []unit, target func(*builder) *gpu.Opt[int64]) setter {
	return valueOf(func(printed []byte) (int64, bool) { return integer(printed, units) }, target)
}

// boolOf returns a setter of a flag.
func boolOf(target func(*builder) *gpu.Opt[bool]) setter { return valueOf(boolean, target) }

// counterOf returns a setter of a total that the driver counts.
func counterOf(target func(*builder) *gpu.Counter[int64]) setter {
	return func(b *builder, printed []byte) bool {
		v, ok := integer(printed, unitCount)
		if ok {
			*target(b) = gpu.Total(v)
		}
		return ok
	}
}

// textOf returns a setter of a text. A reason instead of the text leaves it empty.
func textOf(target func(*builder) *string) setter {
	return func(b *builder, printed []byte) bool {
		v, ok := freeText(printed)
		if ok {
			*target(b) = v
		}
		return ok
	}
}

// wordOf returns a setter of a text that becomes a word in lower case with underscores: NVIDIA RTX becomes nvidia_rtx.
func wordOf(target func(*builder) *string) setter {
	return func(b *builder, printed []byte) bool {
		v, ok := freeText(printed)
		if ok {
			*target(b) = strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(v))
		}
		return ok
	}
}

// both returns a setter that calls two.
func both(first, second setter) setter {
	return func(b *builder, printed []byte) bool {
		ok := first(b, printed)
		return second(b, printed) && ok
	}
}

// boundedOf returns a setter of a number that is plausible from low to high only. A number outside of these bounds is what
// a driver has instead of a value, or uninitialised memory of the tool.
func boundedOf(units []unit, low, high float64, target func(*builder) *gpu.Opt[float64]) setter {
	return valueOf(func(printed []byte) (float64, bool) {
		v, ok := number(printed, units)
		return v, ok && v >= low && v <= high
	}, target)
}

// unlessZero returns a setter that ignores a zero.
func unlessZero(units []unit, set setter) setter {
	return func(b *builder, printed []byte) bool {
		v, ok := number(printed, units)
		return ok && v == 0 || set(b, printed)
	}
}

// watts returns a setter of the power of a GPU or its module. If the driver has no power limit, nvidia-smi 535 prints uninitialised memory,
// such as half a megawatt, or three.
func watts(target func(*builder) *gpu.Opt[float64]) setter {
	return boundedOf(unitWatts, 0, 60_000, target)
}

// powerLimit returns a setter of a power limit. Zero is uninitialised memory of the tool, too: no GPU runs within it.
func powerLimit(target func(*builder) *gpu.Opt[float64]) setter {
	return unlessZero(unitWatts, watts(target))
}

// fraction returns a setter of a fraction of the time. A value above 1 is invalid.
func fraction(target func(*builder) *gpu.Opt[float64]) setter {
	return boundedOf(unitFraction, 0, 1, target)
}

func celsius(target func(*builder) *gpu.Opt[float64]) setter {
	return boundedOf(unitCelsius, -100, 1000, target)
}

func hertz(target func(*builder) *gpu.Opt[float64]) setter {
	return boundedOf(unitHertz, 0, 60e9, target)
}
