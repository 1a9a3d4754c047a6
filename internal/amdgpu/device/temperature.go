// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func readTemperatures(r *reader, want gpu.Group, s sensors, table *gpumetrics.Table, d *gpu.Device) {
	for i, sensor := range s.temperature {
		if want.Has(gpu.GroupTemperature) {
			validate := plausible.Temperature
			if gpu.Sensor(i) == gpu.SensorMemory {
				validate = plausible.MemoryTemperature
			}
			d.Temperature[i] = r.scaled("temperature", fileOf(sensor, "_input"), milli, validate).Or(table.Temperature[i])
		}
		if want.Has(gpu.GroupTemperatureLimits) {
			limits := &d.TemperatureLimit[i]
			limits[gpu.LimitDegraded] = r.scaled("temperature limit", fileOf(sensor, "_crit"), milli, plausible.TemperatureLimit)
			limits[gpu.LimitCritical] = r.scaled("temperature limit", fileOf(sensor, "_emergency"), milli, plausible.TemperatureLimit)
		}
	}
}
