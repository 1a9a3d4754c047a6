// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var clockRows = []quantity{
	{
		group: gpu.GroupClocks, name: "clocks",
		symbol: "nvmlDeviceGetClockInfo", call: numberOf(library.Device.GetClockInfo, library.ClockGraphics),
		set: unitSetter(hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockGraphics].Speed }),
	},
	{
		group: gpu.GroupClocks, name: "clocks",
		symbol: "nvmlDeviceGetClockInfo", call: numberOf(library.Device.GetClockInfo, library.ClockSM),
		set: unitSetter(hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockSM].Speed }),
	},
	{
		group: gpu.GroupClocks, name: "clocks",
		symbol: "nvmlDeviceGetClockInfo", call: numberOf(library.Device.GetClockInfo, library.ClockMemory),
		set: unitSetter(hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockMemory].Speed }),
	},
	{
		group: gpu.GroupClocks, name: "clocks",
		symbol: "nvmlDeviceGetClockInfo", call: numberOf(library.Device.GetClockInfo, library.ClockVideo),
		set: unitSetter(hertz, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockVideo].Speed }),
	},
	{
		group: gpu.GroupClockLimits, name: "clock limits", constant: true,
		symbol: "nvmlDeviceGetMaxClockInfo", call: numberOf(library.Device.GetMaxClockInfo, library.ClockGraphics),
		set: unitSetter(hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockGraphics].Limit }),
	},
	{
		group: gpu.GroupClockLimits, name: "clock limits", constant: true,
		symbol: "nvmlDeviceGetMaxClockInfo", call: numberOf(library.Device.GetMaxClockInfo, library.ClockSM),
		set: unitSetter(hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockSM].Limit }),
	},
	{
		group: gpu.GroupClockLimits, name: "clock limits", constant: true,
		symbol: "nvmlDeviceGetMaxClockInfo", call: numberOf(library.Device.GetMaxClockInfo, library.ClockMemory),
		set: unitSetter(hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockMemory].Limit }),
	},
	{
		group: gpu.GroupClockLimits, name: "clock limits", constant: true,
		symbol: "nvmlDeviceGetMaxClockInfo", call: numberOf(library.Device.GetMaxClockInfo, library.ClockVideo),
		set: unitSetter(hertzLimit, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Clocks[gpu.ClockVideo].Limit }),
	},
	{
		group: gpu.GroupPerformanceState, name: "performance state",
		symbol: "nvmlDeviceGetPerformanceState", call: number(library.Device.GetPerformanceState),
		set: unitSetter(performanceState, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PerformanceState }),
	},
}

// performanceState is the P-state's number. 0 is the fastest.
func performanceState(v library.Value, ok bool) gpu.Opt[int64] {
	return known(int64(v.Unsigned), ok && v.Unsigned <= uint64(library.PerformanceStateMax))
}
