// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// query is a PromQL query, and the question that it answers.
type query struct{ Question, Expression string }

// ownQueries are queries of metrics for which the general ones would ask the wrong question.
var ownQueries = map[string]query{
	"hw.gpu.source.readable": {"Which sources cannot be read?", `hw_gpu_source_readable == 0`},
	"hw.gpu.vgpu.licensed":   {"Which virtual GPUs have no licence?", `hw_gpu_vgpu_licensed == 0`},
	"hw.gpu.recovery.action": {"Which GPUs does the driver want to recover, and how?", `hw_gpu_recovery_action{hw_gpu_recovery_action!="none"} == 1`},
	"hw.status":              {"Which GPUs are not well?", `hw_status{hw_state!="ok", hw_parent=""} == 1`},
	"hw.power.limit":         {"Which power limit is in force?", `max by (k8s_cluster_name, hw_id) (hw_power_limit_watts{hw_limit_type="enforced"})`},
	"process.gpu.info":       {"How many processes use GPUs, by node?", `count by (k8s_cluster_name, k8s_node_name, host_name) (process_gpu_info)`},
	"container.gpu.allocated": {
		"How many devices does each namespace hold?", overContainers("k8s_cluster_name, k8s_namespace_name", "container_gpu_allocated"),
	},
	"k8s.cluster.gpu.pod.pending": {"How many pods wait for a GPU?", `sum by (k8s_cluster_name, k8s_resource_name) (k8s_cluster_gpu_pod_pending)`},
	"gpu_read_success":            {"Which reads fail?", `otelcol_gpu_read_success == 0`},
}

// identity are attributes that a query does not group by.
var identity = []string{"host.name", "hw.id", "hw.model", "hw.name", "hw.parent", "hw.type", "hw.vendor", "k8s.cluster.name", "k8s.node.name"}

// queryOf returns a query for a metric whose name in Prometheus is series.
func queryOf(name, series string, m *metric) (query, error) {
	if q, ok := ownQueries[name]; ok {
		return q, nil
	}
	switch levelsOf(name, m.Attributes, false)[0] {
	case levelProcess:
		return ofProcesses(series, m), nil
	case levelContainer:
		return ofContainers(name, series, m), nil
	case levelNode, levelCluster:
		if strings.HasPrefix(name, "k8s.") {
			return query{"How many are there, by node and resource?", "sum by (k8s_cluster_name, k8s_node_name, k8s_resource_name) (" + series + ")"}, nil
		}
	}
	by := []string{"k8s_cluster_name"}
	for _, a := range m.Attributes {
		if slices.Contains(identity, a) {
			continue
		}
		l, err := label(a)
		if err != nil {
			return query{}, fmt.Errorf("label of %s: %w", a, err)
		}
		by = append(by, l)
	}
	return ofDevices(name, series, m, by), nil
}

func ofDevices(name, series string, m *metric, by []string) query {
	whole := series // GPUs, and not their parts: the two are never added up
	if slices.Contains(m.Attributes, "hw.parent") {
		whole += `{hw_parent=""}`
	}
	each := strings.Join(append(slices.Clone(by), "hw_id"), ", ")
	all := strings.Join(by, ", ")
	switch kind := m.instrument(); {
	case strings.HasPrefix(m.Description, "Always 1."):
		return query{"What is known of each GPU?", series}
	case kind == "counter" && m.Unit == "s":
		return query{"Which share of the time, of each device?", fmt.Sprintf("max by (%s) (rate(%s[5m])) > 0", each, series)}
	case kind == "counter" && m.Unit == "J":
		return query{"How many watts in the mean, by cluster?", fmt.Sprintf("sum by (%s) (rate(%s[5m]))", all, whole)}
	case kind == "counter" && m.Unit == "By":
		return query{"How many bytes a second, by cluster?", fmt.Sprintf("sum by (%s) (rate(%s[5m]))", all, whole)}
	case kind == "counter":
		return query{"On which devices were there new ones in the last hour?", fmt.Sprintf("max by (%s) (increase(%s[1h])) > 0", each, series)}
	case kind == "updowncounter" && m.Unit == "1":
		return query{"Where does it hold now?", series + " == 1"}
	case kind == "updowncounter":
		return query{"How much is it, by cluster?", fmt.Sprintf("sum by (%s) (%s)", all, whole)}
	case strings.HasSuffix(name, ".margin"):
		return query{"Which ten are closest to the limit?", fmt.Sprintf("bottomk(10, max by (%s) (%s))", each, series)}
	case strings.HasSuffix(name, "utilization"):
		return query{"What is the mean, by cluster?", fmt.Sprintf("avg by (%s) (%s)", all, whole)}
	case strings.HasPrefix(name, "hw.gpu.pcie."):
		return query{"Which ten have the slowest link?", fmt.Sprintf("bottomk(10, max by (%s) (%s))", each, series)}
	default:
		return query{"Which ten have the highest value?", fmt.Sprintf("topk(10, max by (%s) (%s))", each, series)}
	}
}

func ofProcesses(series string, m *metric) query {
	if m.instrument() == "counter" {
		return query{"Which ten processes have the most of it?", "topk(10, rate(" + series + "[5m]))"}
	}
	return query{"Which ten processes have the most of it?", "topk(10, " + series + ")"}
}

func ofContainers(name, series string, m *metric) query {
	by := "k8s_cluster_name, k8s_namespace_name"
	question := "How much is it, by namespace?"
	switch {
	case name == "k8s.container.gpu.request":
		return query{"How much does each namespace request?", "sum by (" + by + ", k8s_resource_name) (" + series + ")"}
	case name == "container.gpu.idle.time":
		return query{"How many devices does each namespace hold and leave idle?", "sum by (" + by + ") (rate(" + series + "[1h]))"}
	case m.instrument() == "counter":
		return query{"How much in the last hour, by namespace?", "sum by (" + by + ") (increase(" + series + "[1h]))"}
	case slices.Contains(m.Attributes, "hw.gpu.task"):
		by += ", hw_gpu_task"
	}
	return query{question, overContainers(by, series)}
}

// overContainers adds up over containers. A container that has restarted may have two series: the greatest counts.
func overContainers(by, series string) string {
	return fmt.Sprintf(`sum by (%s) (
  max without (container_id) (%s{k8s_container_name!=""})
  or %s{k8s_container_name=""}
)`, by, series, series)
}

// ofTelemetry returns a query for one of the collector's own metrics.
func ofTelemetry(name, series string, m *metric) query {
	if q, ok := ownQueries[name]; ok {
		return q
	}
	if m.instrument() == "counter" {
		return query{"Were there any in the last hour?", "increase(" + series + "[1h]) > 0"}
	}
	return query{"Which ten have the highest value?", "topk(10, " + series + ")"}
}
