// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readDetails fills a device with the other values of the sections of amd-smi metric, which readMetric does not read, as far as they are
// wanted.
func readDetails(r record, want gpu.Group, d *gpu.Device) {
	if want.Has(gpu.GroupTemperatureDetail) {
		d.TemperatureDetail = temperatureDetail(r.section("temperature"))
	}
	if want.Has(gpu.GroupVoltage) {
		d.Voltage = voltages(r.section("power"))
	}
	if want.Has(gpu.GroupXCCUtilization) {
		d.XCCUtilization = xccUtilization(r.lookup("usage", "gfx_busy_inst"))
	}
}

// temperatureDetail reads the temperatures of the stacks of memory and of the dies, which are lists, or lists by partition.
func temperatureDetail(r record) []gpu.SensorValue {
	var result []gpu.SensorValue
	for _, t := range [...]struct{ key, location string }{{"hbm_stacks", "hbm"}, {"mid", "mid"}, {"aid", "aid"}, {"xcd", "xcd"}} {
		for i, v := range byPartition(r[t.key]) {
			c := smitext.Quantity(v, smitext.Celsius, "C")
			if c.Known() && c != gpu.Some(0.0) { // 0 is a sensor that is not there
				result = append(result, gpu.SensorValue{Location: t.location + strconv.Itoa(i), Value: c})
			}
		}
	}
	return result
}

// voltages reads what the regulators supply to parts of the GPU.
func voltages(r record) []gpu.SensorValue {
	var result []gpu.SensorValue
	for _, location := range [...]string{"gfx", "soc", "mem"} {
		if v := smitext.Quantity(r[location+"_voltage"], smitext.Volts, "mV"); v.Known() {
			result = append(result, gpu.SensorValue{Location: location, Value: v})
		}
	}
	return result
}
