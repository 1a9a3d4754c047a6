// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// fleet is the dashboard of all clusters.
func fleet() board {
	const cluster = "k8s_cluster_name"
	general := `hw_gpu_task="general"`
	memoryShare := func(labels string) string {
		return "100 * " + sum(labels, each("hw_gpu_memory_usage_bytes", whole)) + " / " +
			sum(labels, each("hw_gpu_memory_limit_bytes", whole)+" and "+each("hw_gpu_memory_usage_bytes", whole))
	}
	pending := "max by (k8s_cluster_name, k8s_resource_name) (" + series("k8s_cluster_gpu_pod_pending", inCluster) + ")"
	free := "max by (k8s_cluster_name, k8s_node_name, k8s_resource_name) (" + series("k8s_node_gpu_allocatable", inCluster, `k8s_node_name=~"$node|"`) + ")" +
		" - max by (k8s_cluster_name, k8s_node_name, k8s_resource_name) (" + series("k8s_node_gpu_requested", inCluster, `k8s_node_name=~"$node|"`) + ")"
	perListedNode := func(aggregate, expression string) string {
		return perNode(aggregate, expression) + " and on (k8s_cluster_name, node) " + first(perNode("sum", eachOf("hw_status", whole, `hw_state="failed"`)))
	}
	return board{
		uid: "gpureceiver-fleet", title: "GPU fleet",
		description: "All clusters, nodes and models, NVIDIA and AMD. GPUs with MIG instances or partitions count once.",
		variables:   []variable{clusterVariable, nodeVariable, modelVariable},
		rows: []row{
			{"Alerts", []panel{alerts(onNode)}},
			{"Now", []panel{
				gpus, failed, missing,
				number("Allocated", "short", agent, "GPUs that are allocated to containers. A shared GPU counts once.", sum("", each("hw_gpu_allocated", whole))),
				number("Free", "short", agent, "GPUs that are not allocated to a container.", "count("+each("hw_gpu_allocated", whole)+" == 0) or vector(0) and on () "+series("hw_gpu_allocated", whole)),
				number("Nodes with GPUs", "short", anyCollector, "Nodes with a GPU that is read or missing.",
					"count("+sum(nodeLabels, series("hw_gpu_count", onNode, `hw_gpu_presence=~"visible|missing"`))+" > 0)"),
				number("Utilization", "percentunit", anyCollector, "The mean over physical GPUs. GPUs with MIG instances report none.", mean("", each("hw_gpu_utilization_ratio", whole, general))),
				number("Memory used", "percent", anyCollector, "The used share of all GPU memory, of GPUs that report their use.", memoryShare("")),
				power, hottest, degreesLeft, throttled,
				number("Pending pods", "short", clusterReader, "Pods for which the scheduler finds no free GPU. See the runbook of GPUPodsPending.", sum("", pending)).limits(1, 0),
				unreadable,
			}},
			{"Over time", []panel{
				graph("Utilization by cluster", "percentunit", anyCollector, "The mean over physical GPUs. GPUs with MIG instances report none.", query{mean(cluster, each("hw_gpu_utilization_ratio", whole, general)), "{{k8s_cluster_name}}"}),
				graph("Memory used by cluster", "percent", anyCollector, "The used share of all GPU memory, of GPUs that report their use.", query{memoryShare(cluster), "{{k8s_cluster_name}}"}),
				graph("Power by cluster", "watt", anyCollector, "The sum over physical GPUs.", query{sum(cluster, each("hw_power_watts", whole)), "{{k8s_cluster_name}}"}),
				graph("GPUs by state", "short", anyCollector, "ok; degraded: works with a fault; predicted_failure: works, and is expected to fail; failed: does no work.", query{sum("hw_state", "max by ("+deviceLabels+", hw_state) ("+series("hw_status", whole)+")"), "{{hw_state}}"}),
				graph("Allocated GPUs by cluster", "short", agent, "GPUs that are allocated to containers.", query{sum(cluster, each("hw_gpu_allocated", whole)), "{{k8s_cluster_name}}"}),
				graph("Energy by cluster", "watt", anyCollector, "Mean power by the energy counters of the boards. It is more exact than Power by cluster, which adds up single readings.",
					query{sum(cluster, "max by ("+deviceLabels+") (rate("+series("hw_energy_joules_total", whole)+"[$__rate_interval]))"), "{{k8s_cluster_name}}"}),
			}},
			{"By model and by node", []panel{
				list("Models", anyCollector, "Physical GPUs by vendor and model.", map[string]string{
					"hw_vendor": "Vendor", "hw_model": "Model", "Value #A": "GPUs", "Value #B": "Utilization", "Value #C": "Memory used", "Value #D": "Power",
				},
					query{"count by (hw_vendor, hw_model) (max by (" + deviceLabels + ", hw_vendor, hw_model) (" + series("hw_status", whole, `hw_state="ok"`) + "))", "short"},
					query{"avg by (hw_vendor, hw_model) (max by (" + deviceLabels + ", hw_vendor, hw_model) (" + series("hw_gpu_utilization_ratio", whole, general) + "))", "percentunit"},
					query{"sum by (hw_vendor, hw_model) (max by (" + deviceLabels + ", hw_vendor, hw_model) (" + series("hw_gpu_memory_usage_bytes", whole) + "))", "bytes"},
					query{"sum by (hw_vendor, hw_model) (max by (" + deviceLabels + ", hw_vendor, hw_model) (" + series("hw_power_watts", whole) + "))", "watt"}),
				list("Nodes", anyCollector, "Physical GPUs of each node; in a fleet of more than 200 nodes, of the 200 with the most failed GPUs. The name leads to the node.", map[string]string{
					"k8s_cluster_name": "Cluster", "node": "Node", "Value #A": "GPUs", "Value #B": "Failed", "Value #C": "Utilization", "Value #D": "Memory used", "Value #E": "Power",
				},
					query{perListedNode("count", eachOf("hw_status", whole, `hw_state="ok"`)), "short"},
					query{perListedNode("sum", eachOf("hw_status", whole, `hw_state="failed"`)), "short"},
					query{perListedNode("avg", eachOf("hw_gpu_utilization_ratio", whole, general)), "percentunit"},
					query{perListedNode("sum", eachOf("hw_gpu_memory_usage_bytes", whole)), "bytes"},
					query{perListedNode("sum", eachOf("hw_power_watts", whole)), "watt"}),
			}},
			{"Requests", []panel{
				graph("Free by resource", "short", clusterReader, "GPUs that the nodes can allocate minus GPUs that pods request.", query{sum("k8s_cluster_name, k8s_resource_name", free), "{{k8s_cluster_name}} {{k8s_resource_name}}"}),
				graph("Pending pods by resource", "short", clusterReader, "Pods for which the scheduler finds no free GPU.", query{pending, "{{k8s_cluster_name}} {{k8s_resource_name}}"}),
			}},
		},
	}
}
