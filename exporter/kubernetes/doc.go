// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate ../../scripts/generate.sh

// Package gpukubernetesexporter is an OpenTelemetry Collector exporter, type gpu_kubernetes. It posts what happens to GPUs in the Kubernetes
// API: Events of the node and of the pods that had the GPU, and the condition GPUHealthy of nodes. It posts only what is configured, and
// never taints, cordons, evicts or deletes.
//
// The exporters of one configuration share one [instance]. The path of a log record: message.go finds the node, event_record.go creates the
// Events, event_poster.go posts them. pod_uids.go adds the UIDs of pods from the metrics that pass through. The path of metrics:
// node_metrics.go keeps what they say of the GPUs of a node, node_health.go computes the verdict, condition_poster.go decides when to post
// it, node_conditions.go applies it. counts.go has the exporter's own metrics.
package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"
