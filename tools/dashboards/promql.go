// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// Which series a dashboard selects. k8s_node_name and host_name of one node are the same name; either may be absent: host_name of a node
// that is read without an agent, k8s_node_name of a machine outside of Kubernetes.
const (
	inCluster = `k8s_cluster_name=~"$cluster"`
	onNode    = inCluster + `, k8s_node_name=~"$node|", host_name=~"$node|"`
	ofModel   = onNode + `, hw_model=~"$model"`
	onMachine = `k8s_node_name="", host_name=~"$node"`
	whole     = ofModel + `, hw_parent=""` // GPUs, and not their parts: the two are never added up
)

// exceptIdle leaves out the reason that the clocks are low because there is no work: an idle GPU is not throttled.
const exceptIdle = `hw_gpu_throttle_reason!="low_utilization"`

// Labels that identify a node, and a device of a fleet.
const (
	nodeLabels   = "k8s_cluster_name, k8s_node_name, host_name"
	deviceLabels = "k8s_cluster_name, hw_id"
	holderLabels = "k8s_cluster_name, k8s_namespace_name, k8s_pod_name, k8s_container_name, hw_id"
)

// named adds the label node: k8s_node_name, else host_name.
func named(expression string) string {
	return `label_replace(label_replace(` + expression + `, "node", "$1", "host_name", "(.+)"), "node", "$1", "k8s_node_name", "(.+)")`
}

// perNode aggregates by node, which has the label node then.
func perNode(aggregate, expression string) string {
	return fmt.Sprintf("%s by (k8s_cluster_name, node) (%s)", aggregate, named(expression))
}

// series selects the series of a metric.
func series(metric string, matchers ...string) string {
	return metric + "{" + strings.Join(matchers, ", ") + "}"
}

// each returns one value for each device, though several collectors may show it.
func each(metric string, matchers ...string) string {
	return "max by (" + deviceLabels + ") (" + series(metric, matchers...) + ")"
}

// eachOf is each, by node: the labels of the node stay.
func eachOf(metric string, matchers ...string) string {
	return "max by (" + nodeLabels + ", hw_id) (" + series(metric, matchers...) + ")"
}

// device returns a line for each device, by node and name.
func device(metric, labels string, matchers ...string) string {
	return "max by (k8s_cluster_name, node, hw_name, hw_id" + labels + ") (" + named(series(metric, matchers...)) + ")"
}

// deviceRate is device of the rate of a counter.
func deviceRate(metric, labels string, matchers ...string) string {
	return "max by (k8s_cluster_name, node, hw_name, hw_id" + labels + ") (" + named("rate("+series(metric, matchers...)+"[$__rate_interval])") + ")"
}

// A panel has at most 1,000 series in a fleet of 1,000 nodes with 8,000 GPUs. So a graph of devices or collectors has at most 20 lines, and a table
// of them at most 200 rows.
const (
	most    = "20"
	maxRows = "200"
)

// top and lowest return the lines of a graph with the highest and the lowest values; highest leaves out zeros, too.
func top(expression string) string     { return "topk(" + most + ", " + expression + ")" }
func highest(expression string) string { return top(expression + " > 0") }
func lowest(expression string) string  { return "bottomk(" + most + ", " + expression + ")" }

// first returns the rows of a table with the highest values.
func first(expression string) string { return "topk(" + maxRows + ", " + expression + ")" }

// holders is a gauge of containers by namespace. A container that has restarted has the greater of the old value and the new one. Each job
// in a container is a user of its own. The other labels distinguish containers without names.
func holders(metric string, matchers ...string) string {
	withName := series(metric, append(slices.Clone(matchers), `k8s_container_name!=""`)...)
	others := series(metric, append(slices.Clone(matchers), `k8s_container_name=""`)...)
	return "(max by (" + holderLabels + ", slurm_job_id, slurm_job_sluid, batch_job_id) (" + withName + ") or max by (k8s_cluster_name, k8s_namespace_name, container_id, container_name, slurm_job_id, slurm_job_sluid, batch_job_id, systemd_unit_name, hw_id) (" + others + "))"
}

// counted is the rate or the increase of a counter of containers. The old series and the new one of a container that has restarted each have a part.
func counted(function, metric, window string, matchers ...string) string {
	return "max by (k8s_cluster_name, k8s_namespace_name, k8s_workload_kind, k8s_workload_name, k8s_pod_name, k8s_container_name, container_id, container_name, slurm_job_id, slurm_job_sluid, batch_job_id, systemd_unit_name, hw_id) (" +
		function + "(" + series(metric, matchers...) + "[" + window + "]))"
}

// sum adds up by labels.
func sum(labels, expression string) string {
	if labels == "" {
		return "sum(" + expression + ")"
	}
	return "sum by (" + labels + ") (" + expression + ")"
}

// mean is the mean by labels.
func mean(labels, expression string) string {
	if labels == "" {
		return "avg(" + expression + ")"
	}
	return "avg by (" + labels + ") (" + expression + ")"
}

// ofGPUs leaves the devices of an expression that the dashboard selects: the metrics of containers have no model.
func ofGPUs(expression string) string {
	return expression + " and on (" + deviceLabels + ") " + series("hw_gpu_info", ofModel)
}
