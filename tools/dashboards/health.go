// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// health is the dashboard of what is wrong with GPUs.
func health() board {
	graphOf := func(title, description, metric, label string, matchers ...string) panel {
		labels, legend := "", "{{node}} {{hw_name}}"
		if label != "" {
			labels, legend = ", "+label, legend+" {{"+label+"}}"
		}
		return graph(title, "short", noneOrNotSent, description, query{highest(device(metric, labels, append([]string{ofModel}, matchers...)...)), legend})
	}
	// The series of a code begins with its first XID, so above 0, which increase() does not count: a series that is new in the range has its total.
	xids := series("hw_gpu_xids_total", ofModel)
	isNew := "(last_over_time(" + xids + "[$__range]) unless " + xids + " offset $__range)"
	xidsOfRange := "(increase(" + xids + "[$__range]) unless " + isNew + " or " + isNew + ")"
	state := func(title, description, expression, label string) panel {
		return list(title, nothingHappens, description, map[string]string{
			"k8s_cluster_name": "Cluster", "node": "Node", "hw_name": "GPU", "hw_id": "ID", "hw_model": "Model", label: "Reason", "Value #A": "Now",
		}, query{first("max by (k8s_cluster_name, node, hw_name, hw_id, hw_model, " + label + ") (" + named(expression) + ")"), "short"})
	}
	const states = deviceLabels + ", hw_state"
	return board{
		uid: "gpureceiver-health", title: "GPU health",
		description: "What is wrong with GPUs: alerts, states, faults, XIDs, memory errors, throttling, links. Numbers count physical GPUs; tables also list MIG instances and partitions.",
		variables:   []variable{clusterVariable, nodeVariable, modelVariable},
		rows: []row{
			{"Alerts", []panel{alerts(onNode)}},
			{"States", []panel{
				number("Healthy", "short", anyCollector, "GPUs whose state is ok.", sum("", each("hw_status", whole, `hw_state="ok"`))),
				number("Degraded", "short", anyCollector, "GPUs that work, with a fault: see Faults.", sum("", each("hw_status", whole, `hw_state="degraded"`))).limits(1, 0),
				number("Failure predicted", "short", anyCollector, "GPUs that work, and are expected to fail: see Faults, and plan a replacement.", sum("", each("hw_status", whole, `hw_state="predicted_failure"`))).limits(1, 0),
				failed, missing, throttled,
				graph("GPUs by state", "short", anyCollector, "Physical GPUs.", query{sum("hw_state", "max by ("+states+") ("+series("hw_status", whole)+")"), "{{hw_state}}"}),
				graph("Sources that cannot be read", "short", nothingHappens, "Drivers, tools and clusters that cannot be read, with the reason. See the runbooks of GPUSourceUnreadable and GPUNodeUnreadable.",
					query{highest("max by (k8s_cluster_name, node, hw_gpu_source_name, error_type) (" + named(series("hw_gpu_source_failure", onNode)) + ")"), "{{k8s_cluster_name}} {{node}} {{hw_gpu_source_name}}: {{error_type}}"}),
				state("Faults", "What the driver reports now, also of MIG instances and partitions. The runbooks of the firing alerts say what to do.", series("hw_gpu_fault", ofModel)+" == 1", "error_type"),
				list("Busy without work", nothingHappens, "GPUs that were busy for ten minutes while power, memory and links were idle: a collective operation probably hangs. See the runbook of GPUBusyWithoutWork.", map[string]string{
					"k8s_cluster_name": "Cluster", "node": "Node", "hw_name": "GPU", "hw_id": "ID", "hw_model": "Model", "Value #A": "Power",
				}, query{first("max by (k8s_cluster_name, node, hw_name, hw_id, hw_model) (" + named(series("hw_power_watts", whole)) + ")" +
					" and on (" + deviceLabels + ") min_over_time(" + series("hw_gpu_utilization_ratio", whole, `hw_gpu_task="general"`) + "[10m]) >= 0.95" +
					" and on (" + deviceLabels + ") max by (" + deviceLabels + ") (max_over_time(" + series("hw_power_watts", whole) + "[10m])) < 0.25 * " + each("hw_power_limit_watts", whole, `hw_limit_type="enforced"`) +
					" and on (" + deviceLabels + ") max_over_time(" + series("hw_gpu_memory_controller_utilization_ratio", whole) + "[10m]) <= 0.02" +
					" unless on (" + deviceLabels + ") rate(" + series("", `__name__=~"hw_gpu_interconnect_io_bytes_total|hw_gpu_io_bytes_total"`, whole) + "[10m]) > 1e7"), "watt"}),
				state("Requested actions", "What the driver asks for, such as a reset of the GPU.", series("hw_gpu_recovery_action", ofModel, `hw_gpu_recovery_action!="none"`)+" == 1", "hw_gpu_recovery_action"),
			}},
			{"Errors", []panel{
				list("XIDs", nothingHappens, "Error codes that NVIDIA's driver reported within the time range, and how often. The runbook of GPUXID leads to the meaning of each code.", map[string]string{
					"k8s_cluster_name": "Cluster", "node": "Node", "hw_name": "GPU", "hw_id": "ID", "hw_gpu_xid": "Code", "Value #A": "Within the time range",
				}, query{first("max by (k8s_cluster_name, node, hw_name, hw_id, hw_gpu_xid) (" + named(xidsOfRange) + ") > 0"), "short"}),
				graphOf("XIDs since the start of the collector", "By code. A code that repeats on one GPU points to its hardware.", "hw_gpu_xids_total", "hw_gpu_xid"),
				graphOf("Memory errors", "Since the driver was loaded; AMD's by block. Corrected errors lose no data. Uncorrected ones do: see the runbook of GPUUncorrectedErrors.", "hw_errors_total", "error_type, hw_gpu_error_block"),
				graphOf("ECC errors of SRAM and DRAM", "NVIDIA, Turing and later, since the driver was loaded. Uncorrected errors of SRAM count towards the limit of GPUSRAMThresholdExceeded; those of DRAM lead to remapped rows.",
					"hw_gpu_ecc_memory_errors_total", "error_type, hw_gpu_memory_type"),
				graphOf("Remapped rows", "Memory rows that spare rows replace. NVIDIA, Ampere and later.", "hw_gpu_memory_row_remapped_total", "error_type"),
				graphOf("Rows that wait for a reset, or could not be replaced", "1 if so. pending: reset the GPU when its work allows it; failed: replace the GPU.", "hw_gpu_memory_remap_state", "hw_gpu_remap_state"),
				graphOf("Memory banks with few spare rows", "NVIDIA, Ampere and later. The next row that fails in a bank without spare rows cannot be replaced.", "hw_gpu_memory_bank_count", "hw_gpu_memory_bank_spares",
					`hw_gpu_memory_bank_spares=~"low|none"`),
				graph("Bad pages", "short", noneOrNotSent, "AMD: memory pages that the driver has taken out of use, and how many there may be. At the limit, replace the GPU.",
					query{highest(device("hw_gpu_memory_page_bad", "", ofModel)), "{{node}} {{hw_name}}"},
					query{highest(device("hw_gpu_memory_page_bad_limit", "", ofModel)), "{{node}} {{hw_name}} at most"}),
			}},
			{"Throttling", []panel{
				graphOf("Throttled now", "1 for each reason that holds the clocks down, without a lack of work. A busy GPU is often at its power limit.", "hw_gpu_throttled", "hw_gpu_throttle_reason", exceptIdle),
				graph("Share of time throttled", "percentunit", noneOrNotSent, "By reason, without a lack of work.",
					query{highest(deviceRate("hw_gpu_throttle_time_seconds_total", ", hw_gpu_throttle_reason", ofModel, exceptIdle)), "{{node}} {{hw_name}} {{hw_gpu_throttle_reason}}"}),
				graph("Degrees left until throttling", "celsius", margins, "The GPUs with the fewest. Fewer than 5 raise GPUHot.",
					query{lowest(device("hw_gpu_temperature_margin_celsius", "", ofModel, `hw_limit_type="high.degraded"`)), "{{node}} {{hw_name}}"}),
				graph("Degrees below the limit", "celsius", anyCollector, "Limit minus temperature, by sensor, for boards that report limits. Fewer than 5 raise GPUHot if the board reports no margin.",
					query{lowest(device("hw_temperature_limit_celsius", ", hw_sensor_location", ofModel, `hw_limit_type="high.degraded"`) + " - " + device("hw_temperature_celsius", ", hw_sensor_location", ofModel)), "{{node}} {{hw_name}} {{hw_sensor_location}}"}),
			}},
			{"Links", []panel{
				graphOf("Links that are down", "NVLink and XGMI. Not every link of a board is connected: compare with the other GPUs of the model.", "hw_gpu_interconnect_link_count", "hw_gpu_interconnect_type", `hw_gpu_interconnect_link_state="down"`),
				graphOf("Not registered with the NVLink fabric", "1 for the current state. CUDA does not start on these GPUs: see the runbook of GPUFabricNotReady.", "hw_gpu_fabric_state", "hw_gpu_fabric_state", `hw_gpu_fabric_state!="completed"`),
				state("Problems in the NVLink fabric", "What the driver reports now. The runbook of GPUFabricUnhealthy explains each.", series("hw_gpu_fabric_condition", ofModel)+" == 1", "hw_gpu_fabric_condition"),
				graphOf("Errors of NVLink", "The sum over all links, since the driver was loaded. Symbol errors are normal; others that grow raise GPULinkErrors.", "hw_gpu_interconnect_errors_total", "error_type"),
				graphOf("Errors of PCI Express", "Errors that the kernel has counted (AER) since it found the device, by the end of the link that reported them. Absent if the firmware handles them.", "hw_gpu_pcie_errors_total", "error_type, hw_gpu_pcie_device"),
				graphOf("Replays of PCI Express", "Packets that were sent again, since the driver was loaded. Many point to the riser, the cable or the seat of the board.", "hw_gpu_pcie_replays_total", ""),
				graph("Lanes of PCI Express that are missing", "short", noneOrNotSent, "Lanes that the link can have minus lanes in use. Above 0, the board is not seated well, or the slot provides fewer lanes.",
					query{highest(device("hw_gpu_pcie_width_limit", "", ofModel) + " - " + device("hw_gpu_pcie_width", "", ofModel)), "{{node}} {{hw_name}}"}),
			}},
		},
	}
}
