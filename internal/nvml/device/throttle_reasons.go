// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import "github.com/otelgpu/gpureceiver/internal/gpu"

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
