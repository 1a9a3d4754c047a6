// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

// reasons are the bits of NVML's nvmlClocksEventReason* that hold clocks down. Idle (0x1), the application's own clocks
// (0x2) and the display's (0x100) do not.
var reasons = [...]struct {
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

var throttleTimes = [...]struct {
	field  field
	reason gpu.ThrottleReason
}{
	{fieldThrottlePower, gpu.ThrottleSWPowerCap},
	{fieldThrottleSyncBoost, gpu.ThrottleSyncBoost},
	{fieldThrottleSWThermal, gpu.ThrottleSWThermal},
	{fieldThrottleHWThermal, gpu.ThrottleHWThermal},
	{fieldThrottlePowerBrake, gpu.ThrottleHWPowerBrake},
}

// throttled sets the reasons that a mask names, of those that the device can report; of all where it does not tell which.
func throttled(t *[gpu.NumThrottleReasons]gpu.Throttle, mask uint64, supported gpu.Opt[uint64]) {
	can, ok := supported.Get()
	for _, r := range reasons {
		if !ok || can&r.bit != 0 {
			t[r.reason].Active = gpu.Some(mask&r.bit != 0)
		}
	}
}
