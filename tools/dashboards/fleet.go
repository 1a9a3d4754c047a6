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
	return board{
		uid: "gpureceiver-fleet", title: "GPU fleet",
		description: "All clusters, nodes and models, NVIDIA and AMD. GPUs with MIG instances or partitions count once.",
		variables:   []variable{clusterVariable, nodeVariable, modelVariable},
		rows: []row{
			{"Alerts", []panel{alerts()}},
			{"Now", []panel{
				gpus, failed, missing,
				number("Allocated", "short", agent, "GPUs that a container holds; one that several share counts once.", sum("", each("hw_gpu_allocated", whole))),
				number("Free", "short", agent, "GPUs that no container holds.", "count("+each("hw_gpu_allocated", whole)+" == 0) or vector(0) and on () "+series("hw_gpu_allocated", whole)),
				number("Nodes with GPUs", "short", anyCollector, "Nodes with a GPU that can be read, or that is missing.",
					"count("+sum(nodeLabels, series("hw_gpu_count", onNode, `hw_gpu_presence=~"visible|missing"`))+" > 0)"),
				number("Utilization", "percentunit", anyCollector, "The mean of GPUs. Those with MIG instances have none.", mean("", each("hw_gpu_utilization_ratio", whole, general))),
				number("Memory used", "percent", anyCollector, "Of the memory of GPUs whose use is known.", memoryShare("")),
				power, hottest,
				number("Pods that wait", "short", clusterReader, "Pods for which the scheduler finds no free GPU.", sum("", pending)).limits(1, 0),
				unreadable,
			}},
			{"Over time", []panel{
				graph("Utilization by cluster", "percentunit", anyCollector, "The mean of GPUs. Those with MIG instances have none.", query{mean(cluster, each("hw_gpu_utilization_ratio", whole, general)), "{{k8s_cluster_name}}"}),
				graph("Memory used by cluster", "percent", anyCollector, "Of the memory of GPUs whose use is known.", query{memoryShare(cluster), "{{k8s_cluster_name}}"}),
				graph("Power by cluster", "watt", anyCollector, "The sum of GPUs.", query{sum(cluster, each("hw_power_watts", whole)), "{{k8s_cluster_name}}"}),
				graph("GPUs by state", "short", anyCollector, "The state of health of whole GPUs.", query{sum("hw_state", "max by ("+deviceLabels+", hw_state) ("+series("hw_status", whole)+")"), "{{hw_state}}"}),
				graph("Allocated GPUs by cluster", "short", agent, "GPUs that a container holds.", query{sum(cluster, each("hw_gpu_allocated", whole)), "{{k8s_cluster_name}}"}),
				graph("Energy by cluster", "watt", anyCollector, "Counted energy, as mean power; what a sum of readings of hw.power only estimates.",
					query{sum(cluster, "max by ("+deviceLabels+") (rate("+series("hw_energy_joules_total", whole)+"[$__rate_interval]))"), "{{k8s_cluster_name}}"}),
			}},
			{"By model and by node", []panel{
				list("Models", anyCollector, "Whole GPUs by vendor and model.", map[string]string{
					"hw_vendor": "Vendor", "hw_model": "Model", "Value #A": "GPUs", "Value #B": "Utilization", "Value #C": "Memory used", "Value #D": "Power",
				},
					query{"count by (hw_vendor, hw_model) (max by (" + deviceLabels + ", hw_vendor, hw_model) (" + series("hw_status", whole, `hw_state="ok"`) + "))", "short"},
					query{"avg by (hw_vendor, hw_model) (max by (" + deviceLabels + ", hw_vendor, hw_model) (" + series("hw_gpu_utilization_ratio", whole, general) + "))", "percentunit"},
					query{"sum by (hw_vendor, hw_model) (max by (" + deviceLabels + ", hw_vendor, hw_model) (" + series("hw_gpu_memory_usage_bytes", whole) + "))", "bytes"},
					query{"sum by (hw_vendor, hw_model) (max by (" + deviceLabels + ", hw_vendor, hw_model) (" + series("hw_power_watts", whole) + "))", "watt"}),
				list("Nodes", anyCollector, "Whole GPUs of each node.", map[string]string{
					"k8s_cluster_name": "Cluster", "node": "Node", "Value #A": "GPUs", "Value #B": "Failed", "Value #C": "Utilization", "Value #D": "Memory used", "Value #E": "Power",
				},
					query{perNode("count", eachOf("hw_status", whole, `hw_state="ok"`)), "short"},
					query{perNode("sum", eachOf("hw_status", whole, `hw_state="failed"`)), "short"},
					query{perNode("avg", eachOf("hw_gpu_utilization_ratio", whole, general)), "percentunit"},
					query{perNode("sum", eachOf("hw_gpu_memory_usage_bytes", whole)), "bytes"},
					query{perNode("sum", eachOf("hw_power_watts", whole)), "watt"}),
			}},
			{"Requests", []panel{
				graph("Free by resource", "short", clusterReader, "What the nodes can allocate less what pods request.", query{sum("k8s_cluster_name, k8s_resource_name", free), "{{k8s_cluster_name}} {{k8s_resource_name}}"}),
				graph("Pods that wait, by resource", "short", clusterReader, "Pods for which the scheduler finds no free GPU.", query{pending, "{{k8s_cluster_name}} {{k8s_resource_name}}"}),
			}},
		},
	}
}
