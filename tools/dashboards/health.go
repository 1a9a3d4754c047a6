// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// health is the dashboard of what is wrong with GPUs.
func health() board {
	graphOf := func(title, unit, description, metric, label string, matchers ...string) panel {
		labels, legend := "", "{{node}} {{hw_name}}"
		if label != "" {
			labels, legend = ", "+label, legend+" {{"+label+"}}"
		}
		return graph(title, unit, anyCollector, description, query{device(metric, labels, append([]string{ofModel}, matchers...)...), legend})
	}
	rateOf := func(title, unit, description, metric, label string) panel {
		return graph(title, unit, anyCollector, description, query{deviceRate(metric, ", "+label, ofModel), "{{node}} {{hw_name}} {{" + label + "}}"})
	}
	countOf := func(title, description, metric, label string) panel {
		expression := "max by (k8s_cluster_name, node, hw_name, hw_id, " + label + ") (" + named("increase("+series(metric, ofModel)+"[$__range])") + ")"
		return list(title, anyCollector, description, map[string]string{
			"k8s_cluster_name": "Cluster", "node": "Node", "hw_name": "GPU", "hw_id": "ID", label: "Kind", "Value #A": "Within the time range",
		}, query{expression, "short"})
	}
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
			{"States", []panel{
				number("Well", "short", anyCollector, "GPUs whose state is ok.", sum("", each("hw_status", whole, `hw_state="ok"`))),
				number("Degraded", "short", anyCollector, "GPUs that work, with a fault.", sum("", each("hw_status", whole, `hw_state="degraded"`))),
				number("Failure predicted", "short", anyCollector, "GPUs that work, and are expected to fail.", sum("", each("hw_status", whole, `hw_state="predicted_failure"`))),
				number("Failed", "short", anyCollector, "GPUs that do no work.", sum("", each("hw_status", whole, `hw_state="failed"`))),
				number("Missing", "short", anyCollector, "GPUs that cannot be read.", sum("", "max by ("+nodeLabels+", hw_vendor) ("+series("hw_gpu_count", onNode, `hw_gpu_presence="missing"`)+")")),
				number("Held back", "short", anyCollector, "GPUs whose clocks heat, the hardware or the power brake hold down.",
					"sum(max by ("+deviceLabels+") ("+series("hw_gpu_throttled", whole, `hw_gpu_throttle_reason=~"hw_.+|sw_thermal_slowdown|thermal_.+"`)+"))"),
				graph("GPUs by state", "short", anyCollector, "Whole GPUs.", query{sum("hw_state", "max by ("+states+") ("+series("hw_status", whole)+")"), "{{hw_state}}"}),
				graph("Sources that cannot be read", "short", nothingHappens, "Drivers, tools and clusters, and why.",
					query{"max by (k8s_cluster_name, node, hw_gpu_source_name, error_type) (" + named(series("hw_gpu_source_failure", onNode)) + ") == 1", "{{k8s_cluster_name}} {{node}} {{hw_gpu_source_name}}: {{error_type}}"}),
				state("Faults", "What is wrong now, also with parts of GPUs.", series("hw_gpu_fault", ofModel)+" == 1", "error_type"),
				state("What the driver asks for", "The action that the driver recommends.", series("hw_gpu_recovery_action", ofModel, `hw_gpu_recovery_action!="none"`)+" == 1", "hw_gpu_recovery_action"),
			}},
			{"Errors", []panel{
				countOf("XIDs", "NVIDIA's error codes. A code has a series from its first XID on, so that first one is in no count: the total of the collector is in the graph.", "hw_gpu_xids_total", "hw_gpu_xid"),
				graphOf("XIDs since the start of the collector", "short", "By code.", "hw_gpu_xids_total", "hw_gpu_xid"),
				graphOf("Memory errors", "short", "Corrected and uncorrected, since the driver was loaded; AMD's by block.", "hw_errors_total", "error_type, hw_gpu_error_block"),
				graphOf("Remapped rows", "short", "Ampere and later.", "hw_gpu_memory_row_remapped_total", "error_type"),
				graphOf("Rows that wait for a reset, or could not be replaced", "short", "1 while it is so.", "hw_gpu_memory_remap_state", "hw_gpu_remap_state"),
				graphOf("Memory banks by spare rows", "short", "Ampere and later. The next row that fails in a bank without spare rows cannot be replaced.", "hw_gpu_memory_bank_count", "hw_gpu_memory_bank_spares"),
				graph("Bad pages", "short", anyCollector, "AMD: out of use for good, and how many there may be.",
					query{device("hw_gpu_memory_page_bad", "", ofModel), "{{node}} {{hw_name}}"},
					query{device("hw_gpu_memory_page_bad_limit", "", ofModel), "{{node}} {{hw_name}} at most"}),
			}},
			{"Throttling", []panel{
				graphOf("Held back now", "short", "1 for each reason that holds the clocks down. Being at the power limit is what a busy GPU does.", "hw_gpu_throttled", "hw_gpu_throttle_reason"),
				rateOf("Share of time held back", "percentunit", "By reason.", "hw_gpu_throttle_time_seconds_total", "hw_gpu_throttle_reason"),
				graphOf("Degrees left until it slows down", "celsius", "NVIDIA's boards from Ada and Hopper on.", "hw_gpu_temperature_margin_celsius", "", `hw_limit_type="high.degraded"`),
				graph("Degrees below the limit", "celsius", anyCollector, "Of boards that report limits: by sensor.",
					query{device("hw_temperature_limit_celsius", ", hw_sensor_location", ofModel, `hw_limit_type="high.degraded"`) + " - " + device("hw_temperature_celsius", ", hw_sensor_location", ofModel), "{{node}} {{hw_name}} {{hw_sensor_location}}"}),
			}},
			{"Links", []panel{
				graphOf("Links that are down", "short", "NVLink and XGMI. Not every link of a board is connected.", "hw_gpu_interconnect_link_count", "hw_gpu_interconnect_type", `hw_gpu_interconnect_link_state="down"`),
				graphOf("State in the NVLink fabric", "short", "1 for the state of now.", "hw_gpu_fabric_state", "hw_gpu_fabric_state"),
				state("Wrong in the NVLink fabric", "What the driver finds wrong now.", series("hw_gpu_fabric_condition", ofModel)+" == 1", "hw_gpu_fabric_condition"),
				graphOf("Errors of NVLink", "short", "Of all links, since the driver was loaded.", "hw_gpu_interconnect_errors_total", "error_type"),
				graphOf("Errors of PCI Express", "short", "AER, by the end of the link that has found them, since the device was found. None where the firmware handles them.", "hw_gpu_pcie_errors_total", "error_type, hw_gpu_pcie_device"),
				graphOf("Replays of PCI Express", "short", "Since the driver was loaded.", "hw_gpu_pcie_replays_total", ""),
				graph("Lanes of PCI Express that are missing", "short", anyCollector, "The most that the link can have less what it has: above 0 the board does not sit well, or the slot has fewer.",
					query{device("hw_gpu_pcie_width_limit", "", ofModel) + " - " + device("hw_gpu_pcie_width", "", ofModel), "{{node}} {{hw_name}}"}),
			}},
		},
	}
}
