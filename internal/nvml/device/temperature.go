// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var temperatureRows = []quantity{
	{
		group: gpu.GroupTemperature, name: "temperature",
		symbol: "nvmlDeviceGetTemperature", call: numberOf(library.Device.GetTemperature, library.TemperatureGPU),
		set: unitSetter(signedCelsius, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Temperature[gpu.SensorGPU] }),
	},
	{
		group: gpu.GroupTemperature, name: "memory temperature",
		fields: []fieldID{{gonvml.FI_DEV_MEMORY_TEMP, 0}},
		set:    unitSetter(memoryCelsius, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Temperature[gpu.SensorMemory] }),
	},
	// The limits do not change. Boards without a limit answer 0.
	{
		group: gpu.GroupTemperatureLimits, name: "temperature limits", constant: true, final: true,
		symbol: "nvmlDeviceGetTemperatureThreshold", call: threshold(library.ThresholdSlowdown),
		set: unitSetter(celsiusLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.TemperatureLimit[gpu.SensorGPU][gpu.LimitDegraded] }),
	},
	{
		group: gpu.GroupTemperatureLimits, name: "temperature limits", constant: true, final: true,
		symbol: "nvmlDeviceGetTemperatureThreshold", call: threshold(library.ThresholdShutdown),
		set: unitSetter(celsiusLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.TemperatureLimit[gpu.SensorGPU][gpu.LimitCritical] }),
	},
	{
		group: gpu.GroupTemperatureLimits, name: "temperature limits", constant: true, final: true,
		symbol: "nvmlDeviceGetTemperatureThreshold", call: threshold(library.ThresholdGPUMax),
		set: unitSetter(celsiusLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.TemperatureLimit[gpu.SensorGPU][gpu.LimitMax] }),
	},
	{
		group: gpu.GroupTemperatureLimits, name: "temperature limits", constant: true, final: true,
		symbol: "nvmlDeviceGetTemperatureThreshold", call: threshold(library.ThresholdMemoryMax),
		set: unitSetter(celsiusLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.TemperatureLimit[gpu.SensorMemory][gpu.LimitMax] }),
	},
}

var marginTemperature = library.NewFunction("temperature margin", "nvmlDeviceGetMarginTemperature")

// temperatureMargin reads T.Limit. It follows the hottest spot of the GPU, which is hotter than the temperature under load. So the margins are
// never calculated from the temperature and its limits, nor the limits from the margins.
func temperatureMargin(h library.Device) (library.Value, bool, library.Return) {
	m, ret := h.GetMarginTemperature()
	return library.Value{Real: float64(m.MarginTemperature)}, true, ret
}

// threshold reads an absolute limit in degrees Celsius.
func threshold(kind library.Threshold) valueCall {
	return func(h library.Device) (library.Value, bool, library.Return) {
		degrees, ret := h.GetTemperatureThreshold(kind)
		return library.Value{Real: float64(degrees)}, true, ret
	}
}

// tLimits are T.Limit at the limits. For the memory the driver has such a point (field 195), and no T.Limit.
var tLimits = [...]struct {
	row   row
	limit gpu.Limit
}{{rowMaxTLimit, gpu.LimitMax}, {rowSlowdownTLimit, gpu.LimitDegraded}, {rowShutdownTLimit, gpu.LimitCritical}}

// readMargins sets how many degrees are left until T.Limit has fallen to each limit.
func readMargins(dev *device, d *gpu.Device) {
	tLimit, ok := celsius(dev.value(marginTemperature, temperatureMargin)).Get()
	if !ok {
		return
	}
	for _, t := range tLimits {
		if point, ok := celsius(dev.fields.get(t.row)).Get(); ok {
			d.TemperatureMargin[t.limit] = gpu.Some(tLimit - point)
		}
	}
}

var memoryClock = library.NewFunction("clocks", "nvmlDeviceGetClockInfo")

// dropZerosOfGuests removes a temperature and clocks of 0 of a virtual GPU: in a guest (GRID P4-1Q) the driver returns 0 of what only the host
// may see. Such a GPU is recognised by its memory clock, which is never 0 on a GPU that answers.
func dropZerosOfGuests(dev *device, d *gpu.Device) {
	zero := gpu.Some(0.0)
	temperature, memory := &d.Temperature[gpu.SensorGPU], d.Clocks[gpu.ClockMemory].Speed
	if *temperature == zero && !dev.cfg.Want.Has(gpu.GroupClocks) {
		memory = hertz(dev.value(memoryClock, numberOf(library.Device.GetClockInfo, library.ClockMemory)))
	}
	if memory != zero {
		return
	}
	if *temperature == zero {
		*temperature = gpu.Opt[float64]{}
	}
	for i := range d.Clocks {
		if d.Clocks[i].Speed == zero {
			d.Clocks[i].Speed = gpu.Opt[float64]{}
		}
	}
}
