// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// setter stores a printed text as the value of its quantity. A text that is not a value of the quantity goes to builder.note.
type setter func(b *builder, printed []byte)

func device(b *builder) *gpu.Device { return &b.gpu.Device }

func info(to func(*gpu.Info) *string) func(*builder) *string {
	return func(b *builder) *string { return to(&b.gpu.Device.Info) }
}

// integerOf returns a setter of a whole number that is not negative.
func integerOf(quantity string, units []unit, to func(*builder) *gpu.Opt[int64]) setter {
	return func(b *builder, printed []byte) {
		if v, ok := integer(printed, units); ok {
			*to(b) = gpu.Some(v)
			return
		}
		b.note(quantity, printed)
	}
}

// boolOf returns a setter of a flag.
func boolOf(quantity string, to func(*builder) *gpu.Opt[bool]) setter {
	return func(b *builder, printed []byte) {
		if v, ok := boolean(printed); ok {
			*to(b) = gpu.Some(v)
			return
		}
		b.note(quantity, printed)
	}
}

// counterOf returns a setter of a total that the driver counts.
func counterOf(quantity string, to func(*builder) *gpu.Counter[int64]) setter {
	return func(b *builder, printed []byte) {
		if v, ok := integer(printed, unitCount); ok {
			*to(b) = gpu.Total(v)
			return
		}
		b.note(quantity, printed)
	}
}

// textOf returns a setter of a text. A reason instead of the text leaves it empty.
func textOf(quantity string, to func(*builder) *string) setter {
	return func(b *builder, printed []byte) {
		if v, ok := freeText(printed); ok {
			*to(b) = v
			return
		}
		b.note(quantity, printed)
	}
}

// wordOf returns a setter of a text that becomes a word in lower case with underscores: NVIDIA RTX becomes nvidia_rtx.
func wordOf(quantity string, to func(*builder) *string) setter {
	return func(b *builder, printed []byte) {
		if v, ok := freeText(printed); ok {
			*to(b) = word(v)
			return
		}
		b.note(quantity, printed)
	}
}

func word(s string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(s))
}

// both returns a setter that calls two.
func both(first, second setter) setter {
	return func(b *builder, printed []byte) {
		first(b, printed)
		second(b, printed)
	}
}

// banks returns a setter of how many banks of the memory have so many spare rows left.
func banks(spares gpu.Spares) setter {
	return integerOf("remapped_rows.histogram."+bankNames[spares], unitBanks, func(b *builder) *gpu.Opt[int64] { return &device(b).MemoryBanks[spares] })
}

// bankNames are the names of the tool for how many spare rows are left.
var bankNames = [gpu.NumSpares]string{
	gpu.SparesMax: "max", gpu.SparesHigh: "high", gpu.SparesPartial: "partial", gpu.SparesLow: "low", gpu.SparesNone: "none",
}

// boundedOf returns a setter of a number that is plausible from low to high only. A number outside of these bounds is what
// a driver has in the place of a value, or uninitialised memory of the tool.
func boundedOf(quantity string, units []unit, low, high float64, to func(*builder) *gpu.Opt[float64]) setter {
	return func(b *builder, printed []byte) {
		if v, ok := number(printed, units); ok && v >= low && v <= high {
			*to(b) = gpu.Some(v)
			return
		}
		b.note(quantity, printed)
	}
}

// unlessZero returns a setter that ignores a zero.
func unlessZero(units []unit, set setter) setter {
	return func(b *builder, printed []byte) {
		if v, ok := number(printed, units); !ok || v != 0 {
			set(b, printed)
		}
	}
}

// watts returns a setter of the power of a GPU or its module. If the driver has no power limit, nvidia-smi 535 prints uninitialised memory,
// such as half a megawatt, or three.
func watts(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return boundedOf(quantity, unitWatts, 0, 60_000, to)
}

// powerLimit returns a setter of a power limit. Zero is uninitialised memory of the tool, too: no GPU runs within it.
func powerLimit(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return unlessZero(unitWatts, watts(quantity, to))
}

// powerLimitOf returns a setter of one of the power limits of a GPU.
func powerLimitOf(quantity string, l gpu.Limit) setter {
	return powerLimit(quantity, func(b *builder) *gpu.Opt[float64] { return &device(b).Power.Limit[l] })
}

// fraction returns a setter of a fraction of the time. A value above 1 is invalid.
func fraction(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return boundedOf(quantity, unitFraction, 0, 1, to)
}

func celsius(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return boundedOf(quantity, unitCelsius, -100, 1000, to)
}

// temperatureLimit returns a setter of a temperature limit. GPUs without the limit print 0.
func temperatureLimit(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return unlessZero(unitCelsius, celsius(quantity, to))
}

func hertz(quantity string, to func(*builder) *gpu.Opt[float64]) setter {
	return boundedOf(quantity, unitHertz, 0, 60e9, to)
}

// pcieLink returns a setter of the generation or width of a PCIe link. A link that is down prints 0.
func pcieLink(quantity string, to func(*gpu.PCIe) *gpu.Opt[int64]) setter {
	return unlessZero(unitLanes, integerOf(quantity, unitLanes, func(b *builder) *gpu.Opt[int64] { return to(&device(b).PCIe) }))
}

// throttleReasons returns the throttle reasons that the tool prints, by their names in XML and in tables. Idle, application
// and display clocks do not throttle. XML shortens two names in its counters.
func throttleReasons() []throttleReason {
	return []throttleReason{
		{gpu.ThrottleSWPowerCap, "sw_power_cap", "sw_power_cap", ""},
		{gpu.ThrottleHWSlowdown, "hw_slowdown", "", ""},
		{gpu.ThrottleSyncBoost, "sync_boost", "sync_boost", ""},
		{gpu.ThrottleSWThermal, "sw_thermal_slowdown", "sw_thermal_slowdown", "sw_therm_slowdown"},
		{gpu.ThrottleHWThermal, "hw_thermal_slowdown", "hw_thermal_slowdown", "hw_therm_slowdown"},
		{gpu.ThrottleHWPowerBrake, "hw_power_brake_slowdown", "hw_power_brake_slowdown", "hw_power_brake"},
	}
}

// throttleReason names a throttle reason and its counter, which is empty if there is no counter.
type throttleReason struct {
	reason  gpu.ThrottleReason
	active  string
	counter string
	short   string // shortened name of the counter, if XML has one
}

// throttleActive returns a setter of whether a throttle reason is active.
func throttleActive(quantity string, r gpu.ThrottleReason) setter {
	return boolOf(quantity, func(b *builder) *gpu.Opt[bool] { return &device(b).Throttle[r].Active })
}

// throttleTime returns a setter of the time for which a throttle reason was active.
func throttleTime(quantity string, r gpu.ThrottleReason) setter {
	return func(b *builder, printed []byte) {
		if v, ok := number(printed, unitSeconds); ok && v >= 0 {
			device(b).Throttle[r].Time = gpu.Total(v)
			return
		}
		b.note(quantity, printed)
	}
}
