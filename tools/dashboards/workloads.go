// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// workloads is the dashboard of allocated, used and idle GPUs, and of their cost.
func workloads() board {
	const inNamespace = onNode + `, k8s_namespace_name=~"$namespace"`
	const namespace = "k8s_cluster_name, k8s_namespace_name"
	const workload = "k8s_cluster_name, k8s_namespace_name, k8s_workload_kind, k8s_workload_name"
	const legend = "{{k8s_namespace_name}}"
	general := `hw_gpu_task="general"`
	// What is allocated: 1 for each holder and device.
	allocated := "max by (" + holderLabels + ") (" + series("container_gpu_allocated", inNamespace) + ") == 1"
	used := holders("container_gpu_utilization_ratio", inNamespace, general)
	idle := counted("rate", "container_gpu_idle_time_seconds_total", "$__rate_interval", inNamespace)
	idleOfRange := counted("increase", "container_gpu_idle_time_seconds_total", "$__range", inNamespace)
	energyOfRange := counted("increase", "container_gpu_energy_joules_total", "$__range", inNamespace)
	power := holders("container_gpu_power_watts", inNamespace)
	memory := holders("container_gpu_memory_usage_bytes", inNamespace)
	// Only devices with a known idle time count: it is absent on MIG instances.
	timed := "(" + allocated + ") and max by (" + holderLabels + ") (" + series("container_gpu_idle_time_seconds_total", inNamespace) + ")"
	heldMemory := "(max by (k8s_cluster_name, k8s_namespace_name, hw_id) (" + series("container_gpu_allocated", inNamespace) + ") == 1)" +
		" * on (" + deviceLabels + ") group_left () max by (" + deviceLabels + ") (hw_gpu_memory_limit_bytes)"
	requested := "max by (k8s_cluster_name, k8s_namespace_name, k8s_pod_name, k8s_container_name, k8s_resource_name) (" +
		series("k8s_container_gpu_request", inCluster, `k8s_namespace_name=~"$namespace"`) + ")"
	// The devices of a holder and the same of all of a workload, by the labels of its pods.
	byWorkload := "sum by (" + workload + ") (max by (" + workload + ", k8s_pod_name, k8s_container_name, hw_id) (" + ofGPUs(series("container_gpu_allocated", inNamespace)+" == 1") + "))"
	clocks := "max by (" + workload + ", hw_id) (" + series("container_gpu_allocated", inNamespace, `k8s_workload_name!=""`) + " == 1) * on (" + deviceLabels + ") group_left () (" +
		each("hw_gpu_speed_hertz", ofModel, `hw_gpu_clock_domain="sm"`) + " and on (" + deviceLabels + ") " + series("hw_gpu_utilization_ratio", ofModel, general) + " > 0.5)"
	return board{
		uid: "gpureceiver-workloads", title: "GPU workloads and namespaces",
		description: "Who holds GPUs, who uses them, what stands idle, energy and waste, by namespace and workload. Devices are counted where they are allocated: a GPU, or a MIG instance or partition of one.",
		variables:   []variable{clusterVariable, nodeVariable, modelVariable, namespaceVariable},
		rows: []row{
			{"Now", []panel{
				number("Held", "short", agent, "Devices that containers hold; of one that several share each holder counts one.", sum("", ofGPUs("("+allocated+")"))),
				number("In use", "short", agentOrExec, "1 is one GPU that is busy all the time. Absent on MIG instances.", sum("", ofGPUs(used))),
				number("Idle", "short", agent, "Devices that stand idle in the hands of a holder: 1 is one that does nothing all the time. Absent on MIG instances.", sum("", ofGPUs(idle))),
				number("Idle share of what is held", "percentunit", agent, "Of the devices whose idle time is known.", sum("", ofGPUs(idle))+" / "+sum("", ofGPUs("("+timed+")"))).limits(0.5, 0),
				number("Used without allocation", "short", agent, "Containers and jobs on devices that they do not hold. Units of systemd, which never hold one, are left out.",
					"count("+ofGPUs("(max by ("+holderLabels+") ("+series("container_gpu_allocated", inNamespace, `systemd_unit_name=""`)+") == 0)")+") or vector(0) and on () "+series("container_gpu_allocated", inNamespace)).limits(1, 0),
				number("Power", "watt", agentOrExec, "Of what containers do; that of idle GPUs belongs to no container here.", sum("", ofGPUs(power))),
			}},
			{"By namespace", []panel{
				graph("Held by namespace", "short", agent, "Devices that containers hold.", query{sum(namespace, ofGPUs("("+allocated+")")), legend}),
				graph("In use by namespace", "short", agentOrExec, "1 is one GPU that is busy all the time. Absent on MIG instances.", query{sum(namespace, ofGPUs(used)), legend}),
				graph("Idle by namespace", "short", agent, "1 is one device that does nothing all the time.", query{sum(namespace, ofGPUs(idle)), legend}),
				graph("Requested by namespace", "short", clusterReader, "Devices that containers request, those of waiting pods too.", query{sum(namespace+", k8s_resource_name", requested), legend + " {{k8s_resource_name}}"}),
				graph("Memory used by namespace", "bytes", agentOrExec, "Of all containers.", query{sum(namespace, ofGPUs(memory)), legend}),
				graph("Memory held by namespace", "bytes", agent, "Of the devices that containers hold; one that a namespace's containers share counts once.", query{sum(namespace, ofGPUs(heldMemory)), legend}),
				graph("Slowest GPU of each workload", "percentunit", agent, "Its clock as a share of the median of the workload's busy GPUs. A job that works in step waits for it.",
					query{"bottomk(" + most + ", min by (" + workload + ") (" + clocks + ") / quantile by (" + workload + ") (0.5, " + clocks + "))", legend + "/{{k8s_workload_name}}"}),
				graph("Power by namespace", "watt", agentOrExec, "Of what containers do.", query{sum(namespace, ofGPUs(power)), legend}),
			}},
			{"Energy and waste of the time range", []panel{
				number("Idle GPU hours", "h", agent, "Time that devices stood idle in the hands of a holder.", sum("", ofGPUs(idleOfRange))+" / 3600"),
				number("Energy of containers", "kwatth", agent, "With that of the idle time of what they hold. Absent on MIG instances.", sum("", ofGPUs(energyOfRange))+" / 3.6e6"),
				list("Namespaces", agent, "Devices held at the end of the range, idle hours and energy within it.", map[string]string{
					"k8s_cluster_name": "Cluster", "k8s_namespace_name": "Namespace", "Value #A": "Held", "Value #B": "Idle GPU hours", "Value #C": "Energy",
				},
					query{sum(namespace, ofGPUs("("+allocated+")")), "short"},
					query{sum(namespace, ofGPUs(idleOfRange)) + " / 3600", "h"},
					query{sum(namespace, ofGPUs(energyOfRange)) + " / 3.6e6", "kwatth"}),
				list("Workloads", agent, "By the topmost owner of their pods; needs attribution::owners for its name. The 200 highest values of each column.", map[string]string{
					"k8s_cluster_name": "Cluster", "k8s_namespace_name": "Namespace", "k8s_workload_kind": "Kind", "k8s_workload_name": "Workload",
					"Value #A": "Held", "Value #B": "Idle GPU hours", "Value #C": "Energy",
				},
					query{first(byWorkload), "short"},
					query{first(sum(workload, ofGPUs(idleOfRange)) + " / 3600"), "h"},
					query{first(sum(workload, ofGPUs(energyOfRange)) + " / 3.6e6"), "kwatth"}),
				list("Held and idle", agent, "Containers that used what they hold for less than 5 % of the time range; at most 200.", map[string]string{
					"k8s_cluster_name": "Cluster", "k8s_namespace_name": "Namespace", "k8s_pod_name": "Pod", "k8s_container_name": "Container", "hw_id": "Device", "Value #A": "Idle share",
				}, query{first(sum(holderLabels, ofGPUs(counted("rate", "container_gpu_idle_time_seconds_total", "$__range", inNamespace))) + " > 0.95"), "percentunit"}),
			}},
		},
	}
}
