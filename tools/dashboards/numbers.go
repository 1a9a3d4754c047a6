// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The numbers that several dashboards show.
var (
	gpus    = number("GPUs", "short", anyCollector, "Physical GPUs that are read. MIG instances and partitions do not count.", "count("+each("hw_status", whole, `hw_state="ok"`)+")")
	failed  = number("Failed", "short", anyCollector, "GPUs that do no work. The alerts GPUFailed and GPUUnreachable name them, and their runbooks say what to do.", sum("", each("hw_status", whole, `hw_state="failed"`))).limits(0, 1)
	missing = number("Missing", "short", anyCollector, "GPUs that are on the PCI bus, or were read before, and cannot be read now. See the runbook of GPUMissing.",
		sum("", "max by ("+nodeLabels+", hw_vendor) ("+series("hw_gpu_count", onNode, `hw_gpu_presence="missing"`)+")")).limits(0, 1)
	unreadable = number("Unreadable sources", "short", anyCollector, "Drivers, tools and clusters that cannot be read now. GPU health shows them with the reason.",
		sum("", "1 - max by ("+nodeLabels+", hw_gpu_source_name, hw_vendor) ("+series("hw_gpu_source_readable", onNode)+")")).limits(0, 1)
	power   = number("Power", "watt", anyCollector, "The sum over all physical GPUs.", sum("", each("hw_power_watts", whole)))
	hottest = number("Temperature", "celsius", anyCollector, "The hottest GPU, by the sensor of its chip, or by its hottest spot if that is all it has. Degrees left says how near a GPU is to its limit.",
		"max("+each("hw_temperature_celsius", whole, `hw_sensor_location=~"gpu|edge"`)+" or "+each("hw_temperature_celsius", whole, `hw_sensor_location="hotspot"`)+")").limits(80, 90)
	// What the driver says: it knows the limits of the board.
	degreesLeft = number("Degrees left", "celsius", margins, "The smallest margin of any GPU to any of its temperature limits. GPUHot fires if fewer than 5 are left until the GPU is throttled.",
		"min("+series("hw_gpu_temperature_margin_celsius", whole)+")").limits(10, 5)
	throttled = number("Throttled", "short", anyCollector, "GPUs whose clocks are held down by heat, the hardware or the power brake. GPU health shows the reasons; see the runbook of GPUThrottled.",
		"sum(max by ("+deviceLabels+") ("+series("hw_gpu_throttled", whole, `hw_gpu_throttle_reason=~"hw_.+|sw_thermal_slowdown|thermal_.+"`)+"))").limits(1, 0)
)
