// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// unique are the attributes whose values differ between any two nodes of a cluster.
var unique = []string{"hw.id", "hw.parent", "host.name", "k8s.node.name"}

// TwoNodes returns the metrics of a node together with the metrics of another node, which differs only in the names of the node and in the
// IDs of its GPUs: it has the same processes, containers and values.
func TwoNodes(node pmetric.Metrics) pmetric.Metrics {
	both := pmetric.NewMetrics()
	node.CopyTo(both)
	other := pmetric.NewMetrics()
	node.CopyTo(other)
	for _, rm := range other.ResourceMetrics().All() {
		rename(rm.Resource().Attributes())
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				for _, dp := range numbers(m).All() {
					rename(dp.Attributes())
				}
			}
		}
	}
	other.ResourceMetrics().MoveAndAppendTo(both.ResourceMetrics())
	return both
}

func rename(attributes pcommon.Map) {
	for name, value := range attributes.All() {
		if slices.Contains(unique, name) {
			value.SetStr(value.Str() + "-other")
		}
	}
}
