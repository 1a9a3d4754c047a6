// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// throttleFunctions are those that return why the clocks are held down.
type throttleFunctions struct {
	current, supported         *library.Function
	callCurrent, callSupported func(library.Device) (uint64, library.Return)
}

var (
	eventReasons = throttleFunctions{
		library.NewFunction("throttle reasons", "nvmlDeviceGetCurrentClocksEventReasons"),
		library.NewFunction("throttle reasons", "nvmlDeviceGetSupportedClocksEventReasons"),
		library.Device.GetCurrentClocksEventReasons, library.Device.GetSupportedClocksEventReasons,
	}
	// Before driver 535.
	oldThrottleReasons = throttleFunctions{
		library.NewFunction("throttle reasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
		library.NewFunction("throttle reasons", "nvmlDeviceGetSupportedClocksThrottleReasons"),
		library.Device.GetCurrentClocksThrottleReasons, library.Device.GetSupportedClocksThrottleReasons,
	}
)

// throttle remembers which reasons a GPU can report.
type throttle struct{ supported gpu.Opt[uint64] }

// read reads why the clocks are held down, of the reasons that the GPU can report.
func (t *throttle) read(dev *device, d *gpu.Device) {
	f := &eventReasons
	if !dev.Has(f.current) {
		f = &oldThrottleReasons
	}
	if !t.supported.Known() && dev.Can(f.supported) {
		if mask, ret := f.callSupported(dev.handle); dev.OK(f.supported, library.Code(ret)) {
			t.supported = gpu.Some(mask)
		}
	}
	if mask, ok := dev.number64(f.current, f.callCurrent); ok {
		setThrottled(&d.Throttle, mask.Unsigned, t.supported)
	}
}
