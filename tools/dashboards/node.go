// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// node is the dashboard of one node: its GPUs, their parts, and what runs on them.
func node() board {
	general := `hw_gpu_task="general"`
	// The memory of a GPU that is divided is the sum over its partitions.
	leaves := func(expression string) string {
		return expression + ` unless on (k8s_cluster_name, hw_id) label_replace(` + series("hw_gpu_info", onNode, `hw_parent!=""`) + `, "hw_id", "$1", "hw_parent", "(.+)")`
	}
	const legend = "{{hw_name}}"
	chosen := nodeVariable
	chosen.single = true
	return board{
		uid: "gpureceiver-node", title: "GPU node",
		description: "One node: its GPUs, MIG instances and partitions, and what runs on them.",
		variables:   []variable{clusterVariable, chosen, modelVariable},
		rows: []row{
			{"Alerts", []panel{alerts(onNode)}},
			{"Now", []panel{
				gpus, failed, missing, unreadable,
				number("Allocated", "short", agent, "GPUs that are allocated to containers. A shared GPU counts once.", sum("", each("hw_gpu_allocated", whole))),
				number("Utilization", "percentunit", anyCollector, "The mean over physical GPUs. GPUs with MIG instances report none.", mean("", each("hw_gpu_utilization_ratio", whole, general))),
				number("Memory used", "bytes", anyCollector, "The sum over physical GPUs.", sum("", each("hw_gpu_memory_usage_bytes", whole))),
				power, hottest, degreesLeft, throttled,
			}},
			{"Use", []panel{
				graph("Utilization of each GPU", "percentunit", anyCollector, "GPUs with MIG instances report none; AMD's partitions report their own.", query{device("hw_gpu_utilization_ratio", "", ofModel, general), legend}),
				graph("Memory of each device", "percent", anyCollector, "The used share of each GPU, or of each MIG instance or partition of a divided GPU.",
					query{leaves("100 * " + device("hw_gpu_memory_usage_bytes", "", ofModel) + " / " + device("hw_gpu_memory_limit_bytes", "", ofModel)), legend}),
				graph("Power of each GPU", "watt", anyCollector, "MIG instances and partitions report no power.", query{device("hw_power_watts", "", whole), legend}),
				graph("Temperatures", "celsius", anyCollector, "By sensor.", query{device("hw_temperature_celsius", ", hw_sensor_location", whole), "{{hw_name}} {{hw_sensor_location}}"}),
				graph("Clock", "hertz", anyCollector, "Clock of the graphics engine or the shaders. If it is low under load, see Throttled on the dashboard GPU.", query{device("hw_gpu_speed_hertz", "", whole, `hw_gpu_clock_domain="graphics"`), legend}),
				graph("PCI Express", "Bps", pcieSampling, "Bytes each second, by direction.", query{deviceRate("hw_gpu_io_bytes_total", ", network_io_direction", whole), "{{hw_name}} {{network_io_direction}}"}),
				graph("NVLink, XGMI", "Bps", gpuLinks, "Bytes each second over all links, by direction.", query{deviceRate("hw_gpu_interconnect_io_bytes_total", ", network_io_direction", whole), "{{hw_name}} {{network_io_direction}}"}),
				graph("Memory by container", "bytes", agentOrExec, "Of each container, on all GPUs of the node.", query{sum("k8s_namespace_name, k8s_pod_name, k8s_container_name, container_id", ofGPUs(holders("container_gpu_memory_usage_bytes", onNode))), "{{k8s_namespace_name}}/{{k8s_pod_name}}/{{k8s_container_name}}{{container_id}}"}),
			}},
			{"GPUs and processes", []panel{
				list("GPUs and their parts", anyCollector, "Model, ID, driver, firmware and PCI address. The name leads to the dashboard GPU.", map[string]string{
					"hw_name": "Name", "hw_model": "Model", "hw_id": "ID", "hw_parent": "Part of", "hw_gpu_partition_profile": "Profile", "hw_gpu_pci_address": "PCI address",
					"hw_driver_version": "Driver", "hw_firmware_version": "Firmware", "Value #A": "Present",
				}, query{"max by (hw_name, hw_model, hw_id, hw_parent, hw_gpu_partition_profile, hw_gpu_pci_address, hw_driver_version, hw_firmware_version) (" + series("hw_gpu_info", ofModel) + ")", "short"}),
				list("Processes", anyCollector, "Memory of each process on each device.", map[string]string{
					"hw_id": "Device", "process_pid": "PID", "process_executable_name": "Program", "k8s_namespace_name": "Namespace", "k8s_pod_name": "Pod", "Value #A": "Memory",
				}, query{"max by (hw_id, process_pid, process_executable_name, k8s_namespace_name, k8s_pod_name) (" + ofGPUs(series("process_gpu_memory_usage_bytes", onNode)) + ")", "bytes"}),
			}},
		},
	}
}
