// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var thresholds = [...]struct {
	function *library.Function
	kind     library.Threshold
	sensor   gpu.Sensor
	limit    gpu.Limit
}{
	{newThreshold(), library.ThresholdSlowdown, gpu.SensorGPU, gpu.LimitDegraded},
	{newThreshold(), library.ThresholdShutdown, gpu.SensorGPU, gpu.LimitCritical},
	{newThreshold(), library.ThresholdGPUMax, gpu.SensorGPU, gpu.LimitMax},
	{newThreshold(), library.ThresholdMemoryMax, gpu.SensorMemory, gpu.LimitMax},
}

func newThreshold() *library.Function {
	return library.NewFunction("temperature limits", "nvmlDeviceGetTemperatureThreshold")
}

// temperatureMargin reads how many degrees are left until the GPU slows down. Newer boards report it instead of absolute limits; the one is
// never computed from the other.
func temperatureMargin(h library.Device) (library.Value, bool, library.Return) {
	m, ret := h.GetMarginTemperature()
	return library.Value{Real: float64(m.MarginTemperature)}, true, ret
}

// readTemperatureLimits reads the absolute limits in degrees Celsius, which do not change.
func readTemperatureLimits(dev *device, d *gpu.Device) {
	for i := range thresholds {
		t := &thresholds[i]
		v, ok := dev.constants[t.function]
		if !ok && dev.Can(t.function) {
			degrees, ret := dev.handle.GetTemperatureThreshold(t.kind)
			if !dev.OK(t.function, library.Code(ret)) {
				continue
			}
			v, ok = library.Uint32(degrees)
			if ok = ok && degrees > 0 && celsius(v, ok).Known(); ok {
				dev.constants[t.function] = v
			} else {
				dev.Refuse(t.function) // boards without the threshold answer 0
			}
		}
		d.TemperatureLimit[t.sensor][t.limit] = celsius(v, ok)
	}
}

// readShutdownMargin sets how many degrees are left until the GPU shuts down. The driver slows the GPU down at a margin of 0. The GPU shuts
// down when the margin has fallen to the field's point. For the memory the driver has such a point (field 195) and no margin.
func readShutdownMargin(dev *device, d *gpu.Device) {
	margin, known := d.TemperatureMargin[gpu.LimitDegraded].Get()
	if point, ok := celsius(dev.fields.get(fieldShutdownTLimit)).Get(); ok && known {
		d.TemperatureMargin[gpu.LimitCritical] = gpu.Some(margin - point)
	}
}
