// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxSensors bounds the sensors of one kind. SMU 15.0.8 has 12 stacks of memory.
const maxSensors = 64

// addDetails adds the temperatures of sensors of one kind, by their numbers.
func (t *Table) addDetails(kind string, all []gpu.Opt[uint64]) {
	for i, v := range all[:min(len(all), maxSensors)] {
		t.addDetail(kind+strconv.Itoa(i), v)
	}
}

// addDetail adds a temperature. Firmware reports 0 °C for a sensor that is not there, as for the memory.
func (t *Table) addDetail(location string, celsius gpu.Opt[uint64]) {
	if v := memoryTemperature(celsius); v.Known() {
		t.Details = append(t.Details, gpu.SensorValue{Location: location, Value: v})
	}
}

// addVoltage adds a voltage in mV.
func (t *Table) addVoltage(location string, millivolts gpu.Opt[uint64]) {
	const milli = 1000
	if v := convert(millivolts, func(n float64) gpu.Opt[float64] { return plausible.Voltage(n / milli) }); v.Known() {
		t.Voltages = append(t.Voltages, gpu.SensorValue{Location: location, Value: v})
	}
}
