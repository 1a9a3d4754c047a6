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
			"k8s_cluster_name": "Cluster", "node": "Node", "hw_name": "GPU", "hw_id": "ID", "hw_model": "Model", label: "What", "Value #A": "Now",
		}, query{"max by (k8s_cluster_name, node, hw_name, hw_id, hw_model, " + label + ") (" + named(expression) + ")", "short"})
	}
	const states = deviceLabels + ", hw_state"
	return board{
		uid: "gpureceiver-health", title: "GPU health",
		description: "States and faults, XIDs, memory errors, throttling, links. Whole GPUs in sums; their parts in lists.",
		variables:   []variable{clusterVariable, nodeVariable, modelVariable},
		rows: []row{
			{"Alerts", []panel{alerts()}},
			{"States", []panel{
				number("Well", "short", anyCollector, "GPUs whose state is ok.", sum("", each("hw_status", whole, `hw_state="ok"`))),
				number("Degraded", "short", anyCollector, "GPUs that work, with a fault.", sum("", each("hw_status", whole, `hw_state="degraded"`))).limits(1, 0),
				number("Failure predicted", "short", anyCollector, "GPUs that work, and are expected to fail.", sum("", each("hw_status", whole, `hw_state="predicted_failure"`))).limits(1, 0),
				failed, missing, throttled,
				graph("GPUs by state", "short", anyCollector, "Whole GPUs.", query{sum("hw_state", "max by ("+states+") ("+series("hw_status", whole)+")"), "{{hw_state}}"}),
				graph("Sources that cannot be read", "short", nothingHappens, "Drivers, tools and clusters, and why.",
					query{"max by (k8s_cluster_name, node, hw_gpu_source_name, error_type) (" + named(series("hw_gpu_source_failure", onNode)) + ") == 1", "{{k8s_cluster_name}} {{node}} {{hw_gpu_source_name}}: {{error_type}}"}),
				state("Faults", "What is wrong now, also with parts of GPUs.", series("hw_gpu_fault", ofModel)+" == 1", "error_type"),
				list("Busy without work", nothingHappens, "Busy for ten minutes, and power, memory and links are idle: a collective operation that hangs. As the alert GPUBusyWithoutWork.", map[string]string{
					"k8s_cluster_name": "Cluster", "node": "Node", "hw_name": "GPU", "hw_id": "ID", "hw_model": "Model", "Value #A": "Power",
				}, query{"max by (k8s_cluster_name, node, hw_name, hw_id, hw_model) (" + named(series("hw_power_watts", whole)) + ")" +
					" and on (" + deviceLabels + ") min_over_time(" + series("hw_gpu_utilization_ratio", whole, `hw_gpu_task="general"`) + "[10m]) >= 0.95" +
					" and on (" + deviceLabels + ") max by (" + deviceLabels + ") (max_over_time(" + series("hw_power_watts", whole) + "[10m])) < 0.25 * " + each("hw_power_limit_watts", whole, `hw_limit_type="enforced"`) +
					" and on (" + deviceLabels + ") max_over_time(" + series("hw_gpu_memory_controller_utilization_ratio", whole) + "[10m]) <= 0.02" +
					" unless on (" + deviceLabels + ") rate(" + series("", `__name__=~"hw_gpu_interconnect_io_bytes_total|hw_gpu_io_bytes_total"`, whole) + "[10m]) > 1e7", "watt"}),
				state("What the driver asks for", "The action that the driver recommends.", series("hw_gpu_recovery_action", ofModel, `hw_gpu_recovery_action!="none"`)+" == 1", "hw_gpu_recovery_action"),
			}},
			{"Errors", []panel{
				list("XIDs", nothingHappens, "NVIDIA's error codes within the time range, the first one of each code included.", map[string]string{
					"k8s_cluster_name": "Cluster", "node": "Node", "hw_name": "GPU", "hw_id": "ID", "hw_gpu_xid": "Code", "Value #A": "Within the time range",
				}, query{"max by (k8s_cluster_name, node, hw_name, hw_id, hw_gpu_xid) (" + named(xidsOfRange) + ") > 0", "short"}),
				graphOf("XIDs since the start of the collector", "By code.", "hw_gpu_xids_total", "hw_gpu_xid"),
				graphOf("Memory errors", "Corrected and uncorrected, since the driver was loaded; AMD's by block.", "hw_errors_total", "error_type, hw_gpu_error_block"),
				graphOf("Remapped rows", "Ampere and later.", "hw_gpu_memory_row_remapped_total", "error_type"),
				graphOf("Rows that wait for a reset, or could not be replaced", "1 while it is so.", "hw_gpu_memory_remap_state", "hw_gpu_remap_state"),
				graphOf("Memory banks with few spare rows", "Ampere and later. The next row that fails in a bank without spare rows cannot be replaced.", "hw_gpu_memory_bank_count", "hw_gpu_memory_bank_spares",
					`hw_gpu_memory_bank_spares=~"low|none"`),
				graph("Bad pages", "short", noneOrNotSent, "AMD: out of use for good, and how many there may be.",
					query{highest(device("hw_gpu_memory_page_bad", "", ofModel)), "{{node}} {{hw_name}}"},
					query{highest(device("hw_gpu_memory_page_bad_limit", "", ofModel)), "{{node}} {{hw_name}} at most"}),
			}},
			{"Throttling", []panel{
				graphOf("Held back now", "1 for each reason that holds the clocks down. Being at the power limit is what a busy GPU does.", "hw_gpu_throttled", "hw_gpu_throttle_reason", heldBack),
				graph("Share of time held back", "percentunit", noneOrNotSent, "By reason.",
					query{highest(deviceRate("hw_gpu_throttle_time_seconds_total", ", hw_gpu_throttle_reason", ofModel, heldBack)), "{{node}} {{hw_name}} {{hw_gpu_throttle_reason}}"}),
				graph("Degrees left until it slows down", "celsius", anyCollector, "NVIDIA's boards from Ada and Hopper on. The GPUs with the fewest.",
					query{lowest(device("hw_gpu_temperature_margin_celsius", "", ofModel, `hw_limit_type="high.degraded"`)), "{{node}} {{hw_name}}"}),
				graph("Degrees below the limit", "celsius", anyCollector, "Of boards that report limits: by sensor.",
					query{lowest(device("hw_temperature_limit_celsius", ", hw_sensor_location", ofModel, `hw_limit_type="high.degraded"`) + " - " + device("hw_temperature_celsius", ", hw_sensor_location", ofModel)), "{{node}} {{hw_name}} {{hw_sensor_location}}"}),
			}},
			{"Links", []panel{
				graphOf("Links that are down", "NVLink and XGMI. Not every link of a board is connected.", "hw_gpu_interconnect_link_count", "hw_gpu_interconnect_type", `hw_gpu_interconnect_link_state="down"`),
				graphOf("Not registered with the NVLink fabric", "1 for the state of now.", "hw_gpu_fabric_state", "hw_gpu_fabric_state", `hw_gpu_fabric_state!="completed"`),
				state("Wrong in the NVLink fabric", "What the driver finds wrong now.", series("hw_gpu_fabric_condition", ofModel)+" == 1", "hw_gpu_fabric_condition"),
				graphOf("Errors of NVLink", "Of all links, since the driver was loaded.", "hw_gpu_interconnect_errors_total", "error_type"),
				graphOf("Errors of PCI Express", "AER, by the end of the link that has found them, since the device was found. None where the firmware handles them.", "hw_gpu_pcie_errors_total", "error_type, hw_gpu_pcie_device"),
				graphOf("Replays of PCI Express", "Since the driver was loaded.", "hw_gpu_pcie_replays_total", ""),
				graph("Lanes of PCI Express that are missing", "short", noneOrNotSent, "The most that the link can have less what it has: above 0 the board does not sit well, or the slot has fewer.",
					query{highest(device("hw_gpu_pcie_width_limit", "", ofModel) + " - " + device("hw_gpu_pcie_width", "", ofModel)), "{{node}} {{hw_name}}"}),
			}},
		},
	}
}
