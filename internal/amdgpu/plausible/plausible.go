// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package plausible drops values that no GPU can have. They are how firmware says that it has no value: temperatures of 255 and
// 511 °C, all bits of a register.
package plausible

import "github.com/otelgpu/gpureceiver/internal/gpu"

// The bounds of plausible values.
const (
	Coldest   = -100.0   // °C
	Hottest   = 250.0    // °C
	MostPower = 60_000.0 // W
	Fastest   = 60e9     // Hz
	MostBytes = 1 << 50  // of memory
	MostVolts = 60.0
	MostRPM   = 100_000
)

// Within returns a value that is within bounds.
func Within(v, low, high float64) gpu.Opt[float64] {
	if !(v >= low && v <= high) { // NaN is not
		return gpu.Opt[float64]{}
	}
	return gpu.Some(v)
}

// Fraction returns a value from 0 to 1.
func Fraction(v float64) gpu.Opt[float64] { return Within(v, 0, 1) }

// Temperature returns a temperature in °C; -1 °C, or -1 in the driver's unit of a thousandth, is an error of the firmware.
func Temperature(v float64) gpu.Opt[float64] {
	if v == -1 || v == -0.001 {
		return gpu.Opt[float64]{}
	}
	return Within(v, Coldest, Hottest)
}

// MemoryTemperature returns the temperature of memory in °C; 0 means that the sensor does not exist.
func MemoryTemperature(v float64) gpu.Opt[float64] {
	if v == 0 {
		return gpu.Opt[float64]{}
	}
	return Temperature(v)
}

// TemperatureLimit returns a temperature limit in °C; 0 means that the firmware has no limit.
func TemperatureLimit(v float64) gpu.Opt[float64] { return Within(v, 1, Hottest) }

// Power returns a power draw in watts.
func Power(v float64) gpu.Opt[float64] { return Within(v, 0, MostPower) }

// PowerLimit returns a power limit in watts; 0 is how a GPU without a limit of its own says so: an APU, the second die of an
// MI250.
func PowerLimit(v float64) gpu.Opt[float64] { return Within(v, 1e-6, MostPower) }

// Voltage returns a voltage in volts; 0 is how firmware says that it does not measure it.
func Voltage(v float64) gpu.Opt[float64] { return Within(v, 1e-6, MostVolts) }

// Revolutions returns the speed of a fan in revolutions a minute.
func Revolutions(n int64) gpu.Opt[int64] {
	if n < 0 || n > MostRPM {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(n)
}

// Clock returns a frequency in hertz.
func Clock(v float64) gpu.Opt[float64] { return Within(v, 0, Fastest) }

// Bytes returns a size of memory.
func Bytes(n uint64) gpu.Opt[int64] {
	if n > MostBytes {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(n))
}

// PCIeGeneration returns the generation of a PCIe link by its speed in 0.1 GT/s.
func PCIeGeneration(tenths uint64) gpu.Opt[int64] {
	for i, speed := range [...]uint64{25, 50, 80, 160, 320, 640} {
		if tenths == speed {
			return gpu.Some(int64(i + 1))
		}
	}
	return gpu.Opt[int64]{}
}

// PCIeWidth returns a number of lanes that a link can have. 0 and 255 mean that there is no link.
func PCIeWidth(lanes uint64) gpu.Opt[int64] {
	if lanes < 1 || lanes > 32 {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(lanes))
}
