// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readVoltages reads the voltages, from the table if no sensor has them.
func readVoltages(r *reader, s sensors, table *gpumetrics.Table, d *gpu.Device) {
	for _, sensor := range s.voltages {
		if v := r.scaled("voltage", fileOf(sensor.name, "_input"), milli, plausible.Voltage); v.Known() {
			d.Voltage = append(d.Voltage, gpu.SensorValue{Location: sensor.location, Value: v})
		}
	}
	for _, sensor := range table.Voltages {
		if !slices.ContainsFunc(d.Voltage, func(value gpu.SensorValue) bool { return value.Location == sensor.Location }) {
			d.Voltage = append(d.Voltage, sensor)
		}
	}
}
