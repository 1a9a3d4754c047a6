// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The numbers that several dashboards show.
var (
	gpus    = number("GPUs", "short", anyCollector, "GPUs that have a state, whole ones.", "count("+each("hw_status", whole, `hw_state="ok"`)+")")
	failed  = number("Failed", "short", anyCollector, "GPUs that do no work.", sum("", each("hw_status", whole, `hw_state="failed"`))).limits(0, 1)
	missing = number("Missing", "short", anyCollector, "GPUs that are on the PCI bus, or were read before, and cannot be read.",
		sum("", "max by ("+nodeLabels+", hw_vendor) ("+series("hw_gpu_count", onNode, `hw_gpu_presence="missing"`)+")")).limits(0, 1)
	unreadable = number("Unreadable sources", "short", anyCollector, "Drivers, tools and clusters that cannot be read at the moment.",
		sum("", "1 - max by ("+nodeLabels+", hw_gpu_source_name, hw_vendor) ("+series("hw_gpu_source_readable", onNode)+")")).limits(0, 1)
	power   = number("Power", "watt", anyCollector, "The sum of GPUs.", sum("", each("hw_power_watts", whole)))
	hottest = number("Temperature", "celsius", anyCollector, "The hottest GPU: the chip's sensor, or the hottest spot.",
		"max("+each("hw_temperature_celsius", whole, `hw_sensor_location=~"gpu|edge"`)+" or "+each("hw_temperature_celsius", whole, `hw_sensor_location="hotspot"`)+")").limits(80, 90)
	throttled = number("Throttled", "short", anyCollector, "GPUs whose clocks are held down by heat, the hardware or the power brake.",
		"sum(max by ("+deviceLabels+") ("+series("hw_gpu_throttled", whole, `hw_gpu_throttle_reason=~"hw_.+|sw_thermal_slowdown|thermal_.+"`)+"))").limits(1, 0)
)
