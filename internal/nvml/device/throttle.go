// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var throttleRows = []quantity{
	// Drivers without the first field of software thermal throttling count the same in the thermal policy.
	{
		group: gpu.GroupThrottleTime, name: "throttle time",
		fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP, 0}},
		set:    unitSetter(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleSWPowerCap].Time }),
	},
	{
		group: gpu.GroupThrottleTime, name: "throttle time",
		fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST, 0}},
		set:    unitSetter(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleSyncBoost].Time }),
	},
	{
		group: gpu.GroupThrottleTime, name: "throttle time",
		fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, 0}, {gonvml.FI_DEV_PERF_POLICY_THERMAL, 0}},
		of575:  []fieldID{{251, 0}, {gonvml.FI_DEV_PERF_POLICY_THERMAL, 0}},
		set:    unitSetter(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleSWThermal].Time }),
	},
	{
		group: gpu.GroupThrottleTime, name: "throttle time",
		fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, 0}},
		of575:  []fieldID{{252, 0}},
		set:    unitSetter(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleHWThermal].Time }),
	},
	{
		group: gpu.GroupThrottleTime, name: "throttle time",
		fields: []fieldID{{gonvml.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, 0}},
		of575:  []fieldID{{253, 0}},
		set:    unitSetter(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleHWPowerBrake].Time }),
	},
	{
		group: gpu.GroupThrottleTime, name: "throttle time",
		fields: []fieldID{{gonvml.FI_DEV_PERF_POLICY_BOARD_LIMIT, 0}},
		set:    unitSetter(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleBoardLimit].Time }),
	},
	{
		group: gpu.GroupThrottleTime, name: "throttle time",
		fields: []fieldID{{gonvml.FI_DEV_PERF_POLICY_LOW_UTILIZATION, 0}},
		set:    unitSetter(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleLowUtilization].Time }),
	},
	{
		group: gpu.GroupThrottleTime, name: "throttle time",
		fields: []fieldID{{gonvml.FI_DEV_PERF_POLICY_RELIABILITY, 0}},
		set:    unitSetter(seconds, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Throttle[gpu.ThrottleReliability].Time }),
	},
}

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

// throttleReasons are the bits of NVML's nvmlClocksEventReason* that hold clocks down. Idle (0x1), the application's own clocks (0x2) and
// the display's (0x100) do not.
var throttleReasons = [...]struct {
	bit    uint64
	reason gpu.ThrottleReason
}{
	{0x04, gpu.ThrottleSWPowerCap},
	{0x08, gpu.ThrottleHWSlowdown},
	{0x10, gpu.ThrottleSyncBoost},
	{0x20, gpu.ThrottleSWThermal},
	{0x40, gpu.ThrottleHWThermal},
	{0x80, gpu.ThrottleHWPowerBrake},
}

// setThrottled sets the reasons of a mask that the device can report. It sets all reasons if the device does not say which it can report.
func setThrottled(t *[gpu.NumThrottleReasons]gpu.Throttle, mask uint64, supported gpu.Opt[uint64]) {
	can, ok := supported.Get()
	for _, r := range throttleReasons {
		if !ok || can&r.bit != 0 {
			t[r.reason].Active = gpu.Some(mask&r.bit != 0)
		}
	}
}

// ambiguous is what is known of a field that is a throttle time with some drivers and a setting of power smoothing with others: fields 251
// to 253 of drivers other than 575. nvml.h 13 has the settings there, and drivers that have the times are reported nevertheless. The answer
// counts as a time if it cannot be a setting: it has the type of a time, it is a second or more, and it grows. A setting is a percentage or
// a flag.
type ambiguous struct {
	candidate int // which of the field's candidates this is; 0: none
	hasLast   bool
	last      uint64
	proven    bool
}

// minTime is the least throttle time, in nanoseconds, that can prove itself one.
const minTime = 1_000_000_000

// isTime takes note of an answer, and reports whether the field is known to be a time.
func (a *ambiguous) isTime(kind uint32, v library.Value) bool {
	if kind != library.TypeUnsignedLongLong {
		return false
	}
	a.proven = a.proven || a.hasLast && a.last >= minTime && v.Unsigned > a.last
	a.hasLast, a.last = true, v.Unsigned
	return a.proven
}
