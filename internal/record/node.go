// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// recordPresence records how many GPUs the node has. Its points bear the node's name themselves: they have no hw.id by
// which a back end that drops resources could tell the nodes apart.
func (r *Recorder) recordPresence(ts pcommon.Timestamp, node *gpu.Node) {
	opts := nodeOptions(&node.Host)
	opts = withText(opts, string(node.Vendor), metadata.WithHwVendorMetricAttribute)
	for presence, name := range presences {
		if count, ok := node.Presence[presence].Get(); ok {
			r.devices.RecordHwGpuCountDataPoint(ts, count, name, opts...)
		}
	}
}

func nodeOptions(host *gpu.Host) []metadata.MetricAttributeOption {
	var opts []metadata.MetricAttributeOption
	if host.NodeName != "" {
		opts = withText(opts, host.NodeName, metadata.WithK8sNodeNameMetricAttribute)
	} else {
		opts = withText(opts, host.Name, metadata.WithHostNameMetricAttribute)
	}
	return withText(opts, host.ClusterName, metadata.WithK8sClusterNameMetricAttribute)
}
