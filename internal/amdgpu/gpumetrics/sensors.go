// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// addDetails adds the temperatures of sensors of one kind, by their numbers.
func (t *Table) addDetails(kind string, all []gpu.Opt[uint64]) {
	for i, v := range all {
		t.addDetail(kind+strconv.Itoa(i), v)
	}
}

// addDetail adds a temperature. Firmware reports 0 °C for a sensor that is not there, as for the memory.
func (t *Table) addDetail(location string, celsius gpu.Opt[uint64]) {
	if v, ok := memoryTemperature(celsius).Get(); ok {
		t.Details = append(t.Details, Sensor{location, v})
	}
}

// addVoltage adds a voltage in mV.
func (t *Table) addVoltage(location string, millivolts gpu.Opt[uint64]) {
	const milli = 1000
	if v, ok := convert(millivolts, func(n float64) gpu.Opt[float64] { return plausible.Voltage(n / milli) }).Get(); ok {
		t.Voltages = append(t.Voltages, Sensor{location, v})
	}
}
