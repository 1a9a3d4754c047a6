// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// nodeOf returns the node that a resource is on. It reports false for what is not to be posted: data without a node's name, of another
// node or of another cluster than the configured ones.
func (c *Config) nodeOf(resource pcommon.Map) (string, bool) {
	node := textOf(resource, "k8s.node.name")
	switch {
	case !namesNode(resource):
		return "", false
	case c.NodeName != "" && node != c.NodeName, c.ClusterName != "" && textOf(resource, "k8s.cluster.name") != c.ClusterName:
		return "", false
	default:
		return node, true
	}
}

// namesNode reports whether a resource has the name of a node.
func namesNode(resource pcommon.Map) bool {
	return len(validation.IsDNS1123Subdomain(textOf(resource, "k8s.node.name"))) == 0
}

// hasGPUEvent reports whether there is an event of a GPU. Events of a cluster's pods and sources have no node.
func hasGPUEvent(logs plog.ResourceLogs) bool {
	for _, scope := range logs.ScopeLogs().All() {
		for _, record := range scope.LogRecords().All() {
			if strings.HasPrefix(record.EventName(), "hw.gpu.") && textOf(record.Attributes(), "hw.id") != "" {
				return true
			}
		}
	}
	return false
}

// hasGPUStatus reports whether there is the state of a GPU.
func hasGPUStatus(resource pmetric.ResourceMetrics) bool {
	for _, scope := range resource.ScopeMetrics().All() {
		for _, metric := range scope.Metrics().All() {
			if metric.Name() == metadata.MetricsInfo.HwStatus.Name {
				return true
			}
		}
	}
	return false
}

// textOf returns a text among attributes; empty if there is none.
func textOf(attributes pcommon.Map, name string) string {
	if value, ok := attributes.Get(name); ok && value.Type() == pcommon.ValueTypeStr {
		return value.Str()
	}
	return ""
}

// bounded returns a text of others as one line of at most so many bytes: terminals print what the API holds.
func bounded(text string, limit int) string {
	if text = gpu.CleanText(text); len(text) <= limit {
		return text
	}
	return gpu.Cut(text, limit-len("…")) + "…"
}
