// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// recordPresence records hw.gpu.count. Its points have the name of the node as an attribute: they have no hw.id that would keep the
// nodes apart in a backend that drops resources.
func recordPresence(b *builder, ts pcommon.Timestamp, node *gpu.Node) {
	options := withText(nodeIdentity(&node.Host), string(node.Vendor), metadata.WithHwVendorMetricAttribute)
	for presence, name := range presences {
		if count, ok := node.Presence[presence].Get(); ok {
			b.RecordHwGpuCountDataPoint(ts, count, name, options...)
		}
	}
}

// nodeIdentity returns the attributes that identify a node on its points and on hw.gpu.info: the name in Kubernetes, otherwise the name of the host.
func nodeIdentity(host *gpu.Host) []metadata.MetricAttributeOption {
	var options []metadata.MetricAttributeOption
	if host.NodeName != "" {
		options = withText(options, host.NodeName, metadata.WithK8sNodeNameMetricAttribute)
	} else {
		options = withText(options, host.Name, metadata.WithHostNameMetricAttribute)
	}
	return withText(options, host.ClusterName, metadata.WithK8sClusterNameMetricAttribute)
}
