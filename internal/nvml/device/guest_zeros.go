// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

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
