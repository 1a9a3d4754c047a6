// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// gauges are the quantities that one function reads, a line for each: the group of metrics that needs it, what it is for messages, the
// function, how to call it, its unit, and where it goes. A constant does not change while the driver stays: it is asked until it has a value.
var gauges = [...]gauge{
	newGauge(gpu.GroupTemperature, "temperature", "nvmlDeviceGetTemperature", numberOf(library.Device.GetTemperature, library.TemperatureGPU), signedCelsius, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Temperature[gpu.SensorGPU] }),
	newGauge(gpu.GroupTemperatureLimits, "temperature margin", "nvmlDeviceGetMarginTemperature", temperatureMargin, celsius, func(d *gpu.Device) *gpu.Opt[float64] { return &d.TemperatureMargin[gpu.LimitDegraded] }),
	newGauge(gpu.GroupClocks, "clocks", "nvmlDeviceGetClockInfo", numberOf(library.Device.GetClockInfo, library.ClockGraphics), hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockGraphics].Speed }),
	newGauge(gpu.GroupClocks, "clocks", "nvmlDeviceGetClockInfo", numberOf(library.Device.GetClockInfo, library.ClockSM), hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockSM].Speed }),
	newGauge(gpu.GroupClocks, "clocks", "nvmlDeviceGetClockInfo", numberOf(library.Device.GetClockInfo, library.ClockMemory), hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockMemory].Speed }),
	newGauge(gpu.GroupClocks, "clocks", "nvmlDeviceGetClockInfo", numberOf(library.Device.GetClockInfo, library.ClockVideo), hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockVideo].Speed }),
	newConstant(gpu.GroupClockLimits, "clock limits", "nvmlDeviceGetMaxClockInfo", numberOf(library.Device.GetMaxClockInfo, library.ClockGraphics), hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockGraphics].Limit }),
	newConstant(gpu.GroupClockLimits, "clock limits", "nvmlDeviceGetMaxClockInfo", numberOf(library.Device.GetMaxClockInfo, library.ClockSM), hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockSM].Limit }),
	newConstant(gpu.GroupClockLimits, "clock limits", "nvmlDeviceGetMaxClockInfo", numberOf(library.Device.GetMaxClockInfo, library.ClockMemory), hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockMemory].Limit }),
	newConstant(gpu.GroupClockLimits, "clock limits", "nvmlDeviceGetMaxClockInfo", numberOf(library.Device.GetMaxClockInfo, library.ClockVideo), hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockVideo].Limit }),
	newGauge(gpu.GroupPerformanceState, "performance state", "nvmlDeviceGetPerformanceState", number(library.Device.GetPerformanceState), performanceState, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PerformanceState }),
	newGauge(gpu.GroupPCIeLink, "PCIe generation", "nvmlDeviceGetCurrPcieLinkGeneration", number(library.Device.GetCurrPcieLinkGeneration), pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.Generation }),
	newGauge(gpu.GroupPCIeLink, "PCIe width", "nvmlDeviceGetCurrPcieLinkWidth", number(library.Device.GetCurrPcieLinkWidth), pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.Width }),
	newConstant(gpu.GroupPCIeLink, "PCIe generation", "nvmlDeviceGetMaxPcieLinkGeneration", number(library.Device.GetMaxPcieLinkGeneration), pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.GenerationLimit }),
	newConstant(gpu.GroupPCIeLink, "PCIe width", "nvmlDeviceGetMaxPcieLinkWidth", number(library.Device.GetMaxPcieLinkWidth), pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.WidthLimit }),
}

// gauge is a quantity that one function reads.
type gauge struct {
	function *library.Function
	group    gpu.Group
	read     func(*device, *gpu.Device)
}

func newGauge[T any](
	group gpu.Group, what, symbol string, call valueCall, unit func(library.Value, bool) gpu.Opt[T], to func(*gpu.Device) *gpu.Opt[T],
) gauge {
	f := library.NewFunction(what, symbol)
	return gauge{f, group, func(dev *device, d *gpu.Device) { *to(d) = unit(dev.value(f, call)) }}
}

func newConstant[T any](
	group gpu.Group, what, symbol string, call valueCall, unit func(library.Value, bool) gpu.Opt[T], to func(*gpu.Device) *gpu.Opt[T],
) gauge {
	f := library.NewFunction(what, symbol)
	return gauge{f, group, func(dev *device, d *gpu.Device) {
		v, ok := dev.constants[f]
		if !ok {
			v, ok = dev.value(f, call)
		}
		if *to(d) = unit(v, ok); to(d).Known() {
			dev.constants[f] = v
		}
	}}
}

func readGauges(dev *device, d *gpu.Device) {
	for i := range gauges {
		if dev.cfg.Want.Has(gauges[i].group) && dev.Fatal == library.OK {
			gauges[i].read(dev, d)
		}
	}
}

// performanceState is the P-state's number. 0 is the fastest.
func performanceState(v library.Value, ok bool) gpu.Opt[int64] {
	return known(int64(v.Unsigned), ok && v.Unsigned <= uint64(library.PerformanceStateMax))
}

// temperatureMargin reads how many degrees are left until the GPU slows down. Newer boards report it instead of absolute limits; the one is
// never computed from the other.
func temperatureMargin(h library.Device) (library.Value, bool, library.Return) {
	m, ret := h.GetMarginTemperature()
	return library.Value{Real: float64(m.MarginTemperature)}, true, ret
}
