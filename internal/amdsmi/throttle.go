// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"math"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// violations are the limiters of the driver's violation status, since 6.3 on MI300 and later: whether they are at work now, and how often
// the firmware found them at work. Those that hold the clock of graphics below the limit of the host, and low use, are by XCC, since 7.0.
var violations = [...]struct {
	reason         gpu.ThrottleReason
	active, counts string
}{
	{gpu.ThrottlePowerPPT, "ppt_violation_status", "ppt_accumulated"},
	{gpu.ThrottleThermalGPU, "socket_thermal_violation_status", "socket_thermal_accumulated"},
	{gpu.ThrottleThermalMemory, "hbm_thermal_violation_status", "hbm_thermal_accumulated"},
	{gpu.ThrottleThermalVR, "vr_thermal_violation_status", "vr_thermal_accumulated"},
	{gpu.ThrottleThermalExtern, "prochot_violation_status", "prochot_accumulated"},
	{gpu.ThrottleHostLimitPower, "gfx_clk_below_host_limit_power_violation_status", "gfx_clk_below_host_limit_power_accumulated"},
	{gpu.ThrottleHostLimitThermal, "gfx_clk_below_host_limit_thermal_violation_status", "gfx_clk_below_host_limit_thermal_accumulated"},
	// That there is little to do holds nothing back.
	{gpu.ThrottleLowUtilization, "", "low_utilization_accumulated"},
}

// readThrottle reads what is at work now.
func readThrottle(r record, d *gpu.Device) {
	throttle := r.section("throttle")
	for _, v := range violations {
		d.Throttle[v.reason].Active = active(throttle[v.active])
	}
	d.Throttle[gpu.ThrottleUnspecified].Active = throttled(throttle.text("apu_indep_throttle_status", "apu_throttle_status"))
	if hasThrottleStatus(d.Info.ComputeCapability) {
		d.Throttle[gpu.ThrottleUnspecified].Active = throttled(r.section("power").text("throttle_status")).
			Or(d.Throttle[gpu.ThrottleUnspecified].Active)
	}
}

// hasThrottleStatus reports whether GPUs of a target have one word for all limiters. The table of metrics of MI300 and later does not have
// it, and ROCm 6.1 prints UNTHROTTLED for it; so for a GPU with an unknown target the word says nothing.
func hasThrottleStatus(target string) bool {
	return target != "" && !strings.HasPrefix(target, "gfx94") && !strings.HasPrefix(target, "gfx95") && !strings.HasPrefix(target, "gfx125")
}

// throttled reads THROTTLED and UNTHROTTLED.
func throttled(word string) gpu.Opt[bool] {
	switch strings.ToUpper(strings.TrimSpace(word)) {
	case "THROTTLED":
		return gpu.Some(true)
	case "UNTHROTTLED":
		return gpu.Some(false)
	}
	return gpu.Opt[bool]{}
}

// active reads "ACTIVE" and "NOT ACTIVE", or lists and objects of these, one for each partition. It is true if any is active.
func active(v any) gpu.Opt[bool] {
	var result gpu.Opt[bool]
	merge := func(inner any) {
		if a, ok := active(inner).Get(); ok && (a || !result.Known()) {
			result = gpu.Some(a)
		}
	}
	switch v := v.(type) {
	case bool:
		return gpu.Some(v)
	case string:
		switch strings.ToUpper(strings.TrimSpace(v)) {
		case "ACTIVE", "TRUE":
			return gpu.Some(true)
		case "NOT ACTIVE", "FALSE":
			return gpu.Some(false)
		}
	case []any:
		for _, inner := range v {
			merge(inner)
		}
	case map[string]any:
		for _, inner := range v {
			merge(inner)
		}
	}
	return result
}

// looks reads a count of 32 bits or, since SMU 15.0.8, of 64. The largest number of 32 bits is not a count.
func looks(v any) gpu.Opt[uint64] {
	n, ok := smitext.Whole(smitext.Quantity(v, smitext.Looks, "")).Get()
	if !ok || n == math.MaxUint32 {
		return gpu.Opt[uint64]{}
	}
	return gpu.Some(uint64(n))
}
