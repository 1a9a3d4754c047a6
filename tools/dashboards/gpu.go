// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// gpu is the dashboard of single GPUs, MIG instances and partitions: everything that is read of them.
func gpu() board {
	const chosen = ofModel + `, hw_name=~"$gpu"`
	line := func(metric, label string) query {
		labels, legend := "", "{{node}} {{hw_name}}"
		if label != "" {
			labels, legend = ", "+label, legend+" {{"+label+"}}"
		}
		return query{device(metric, labels, chosen), legend}
	}
	rate := func(metric, label string, matchers ...string) query {
		return query{deviceRate(metric, ", "+label, append([]string{chosen}, matchers...)...), "{{node}} {{hw_name}} {{" + label + "}}"}
	}
	onDevice := " and on (" + deviceLabels + ") " + series("hw_gpu_info", chosen)
	node := nodeVariable
	node.single = true // a panel has a line for each device
	return board{
		uid: "gpureceiver-gpu", title: "GPU",
		description: "Everything that is read of single GPUs, MIG instances and partitions.",
		variables:   []variable{clusterVariable, node, modelVariable, gpuVariable},
		rows: []row{
			{"Alerts", []panel{alerts(onNode + `, hw_name=~"$gpu"`)}},
			{"Use", []panel{
				graph("Utilization by task", "percentunit", anyCollector, "Absent of GPUs with MIG instances.", line("hw_gpu_utilization_ratio", "hw_gpu_task")),
				graph("Memory controller", "percentunit", anyCollector, "Share of time in which memory is read or written.", line("hw_gpu_memory_controller_utilization_ratio", "")),
				graph("Memory", "bytes", anyCollector, "Used, reserved by the driver, and in all.",
					query{line("hw_gpu_memory_usage_bytes", "").expression, "{{node}} {{hw_name}} used"},
					query{line("hw_gpu_memory_reserved_bytes", "").expression, "{{node}} {{hw_name}} reserved"},
					query{line("hw_gpu_memory_limit_bytes", "").expression, "{{node}} {{hw_name}} in all"}),
				graph("Memory by process", "bytes", anyCollector, "Of each process on the device.",
					query{"max by (hw_id, process_pid, process_executable_name) (" + series("process_gpu_memory_usage_bytes", onNode) + onDevice + ")", "{{process_executable_name}} {{process_pid}}"}),
				graph("Utilization by process", "percentunit", anyCollector, "Of each process on the device. Absent on MIG instances.",
					query{"max by (hw_id, process_pid, process_executable_name) (" + series("process_gpu_utilization_ratio", onNode) + onDevice + ")", "{{process_executable_name}} {{process_pid}}"}),
				graph("Parts of the compute engine", "percentunit", pipes, "Share of time, or of the peak rate, by part: tensor cores, SMs, DRAM and others.", line("hw_gpu_pipe_utilization_ratio", "hw_gpu_pipe")),
				graph("Allocated", "short", agent, "1 while a container holds the device.", line("hw_gpu_allocated", "")),
			}},
			{"Power and temperature", []panel{
				graph("Power", "watt", anyCollector, "With the limits: in force, and the highest that can be set.", line("hw_power_watts", ""),
					query{line("hw_power_limit_watts", "hw_limit_type").expression, "{{node}} {{hw_name}} limit {{hw_limit_type}}"}),
				graph("Energy", "watt", anyCollector, "Counted energy, as mean power.", query{deviceRate("hw_energy_joules_total", "", chosen), "{{node}} {{hw_name}}"}),
				graph("Temperature", "celsius", anyCollector, "Of each sensor, with the limits of boards that report them.", line("hw_temperature_celsius", "hw_sensor_location"),
					query{line("hw_temperature_limit_celsius", "hw_sensor_location, hw_limit_type").expression, "{{node}} {{hw_name}} {{hw_sensor_location}} {{hw_limit_type}}"}),
				graph("Degrees left", "celsius", margins, "The margin to each limit that the driver reports.", line("hw_gpu_temperature_margin_celsius", "hw_limit_type")),
				graph("Fans", "percentunit", fans, "The speed that the driver requests, as a share of the highest.", line("hw_fan_speed_ratio", "hw_sensor_location")),
				graph("Clocks", "hertz", anyCollector, "By domain.", line("hw_gpu_speed_hertz", "hw_gpu_clock_domain")),
				graph("Throttled", "percentunit", anyCollector, "Share of time in which the clocks were held down, by reason, without a lack of work.", rate("hw_gpu_throttle_time_seconds_total", "hw_gpu_throttle_reason", exceptIdle)),
			}},
			{"Memory errors", []panel{
				graph("Memory errors", "short", anyCollector, "By kind, since the driver was loaded; AMD's by block. Absent if ECC is off.", line("hw_errors_total", "error_type, hw_gpu_error_block")),
				graph("ECC errors of SRAM and DRAM", "short", eccMemories, "By kind, since the driver was loaded. Their sum is the panel Memory errors.", line("hw_gpu_ecc_memory_errors_total", "error_type, hw_gpu_memory_type")),
			}},
			{"Links", []panel{
				graph("PCI Express", "Bps", pcieSampling, "Bytes each second, by direction.", rate("hw_gpu_io_bytes_total", "network_io_direction")),
				graph("NVLink, XGMI", "Bps", gpuLinks, "Bytes each second over all links, by direction.", rate("hw_gpu_interconnect_io_bytes_total", "network_io_direction")),
				graph("PCI Express generation", "short", anyCollector, "Of the link now, and the highest that it can have. An idle link is slower.", line("hw_gpu_pcie_generation", ""),
					query{line("hw_gpu_pcie_generation_limit", "").expression, "{{node}} {{hw_name}} highest"}),
				graph("PCI Express lanes", "short", anyCollector, "Of the link now, and the most that it can have.", line("hw_gpu_pcie_width", ""),
					query{line("hw_gpu_pcie_width_limit", "").expression, "{{node}} {{hw_name}} most"}),
			}},
		},
	}
}
