// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate ../../scripts/generate.sh

// Package gpukubernetesexporter is an OpenTelemetry Collector exporter, type gpu_kubernetes. It posts what happens to GPUs in the Kubernetes
// API, where people look: Events of the node and of the pods that had the GPU, and the condition GPUHealthy of nodes. It posts nothing that is not configured, and never taints,
// cordons, evicts or deletes.
//
// The exporters of one configuration share one [instance]. The way of a log record: message.go finds the node, event_record.go makes the
// Events, event_poster.go posts them. Names of pods get their UIDs from the metrics that pass: pod_uids.go. The
// way of metrics: node_metrics.go keeps what they say of the GPUs of a node, node_health.go makes the verdict, condition_poster.go knows when
// to post it, node_conditions.go applies it. counts.go has the exporter's own metrics.
package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"
