// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// ClusterRecorder records the requests for the GPUs of a cluster. It is not safe for concurrent use.
type ClusterRecorder struct {
	builder   *metadata.MetricsBuilder
	resources *metadata.ResourceBuilder
	source    sourceState
	key       string // of the scraper
	name      string
}

// NewCluster returns a recorder of a cluster. source is the key of the scraper. The name of the cluster may be empty.
func NewCluster(config metadata.MetricsBuilderConfig, settings receiver.Settings, source, name string) *ClusterRecorder {
	builder := metadata.NewMetricsBuilder(config, settings)
	return &ClusterRecorder{builder: builder, resources: builder.NewResourceBuilder(), key: source, name: name}
}

// Record returns the metrics of a snapshot: one resource for each node and each container, and one for the cluster, with whether it could
// be read. An empty snapshot represents a cluster that was never read.
func (r *ClusterRecorder) Record(s *gpu.Cluster, now time.Time, failure *gpu.Failure) pmetric.Metrics {
	ts := pcommon.NewTimestampFromTime(now)
	r.builder.StartBy(ts)
	r.source.record(r.builder, ts, &gpu.Node{Host: gpu.Host{ClusterName: r.name}, Source: r.key, Failure: failure})
	r.pending(ts, s.Pending)
	for start := 0; start < len(s.Nodes); {
		end := start
		for end < len(s.Nodes) && s.Nodes[end].Node == s.Nodes[start].Node {
			r.node(ts, &s.Nodes[end])
			end++
		}
		setText(s.Nodes[start].Node, r.resources.SetK8sNodeName)
		setText(s.Nodes[start].NodeUID, r.resources.SetK8sNodeUID)
		r.emit()
		start = end
	}
	for start := 0; start < len(s.Requests); {
		first := &s.Requests[start]
		end := start
		for end < len(s.Requests) && sameContainer(&s.Requests[end], first) {
			r.request(ts, &s.Requests[end])
			end++
		}
		setText(first.Namespace, r.resources.SetK8sNamespaceName)
		setText(first.Pod, r.resources.SetK8sPodName)
		setText(first.PodUID, r.resources.SetK8sPodUID)
		setText(first.Container, r.resources.SetK8sContainerName)
		setText(first.Node, r.resources.SetK8sNodeName)
		setOwners(r.resources, first.Owners)
		r.emit()
		start = end
	}
	return metricsWithSchema(r.builder.Emit())
}

func (r *ClusterRecorder) emit() {
	setText(r.name, r.resources.SetK8sClusterName)
	r.builder.EmitForResource(metadata.WithResource(r.resources.Emit()))
}

func (r *ClusterRecorder) pending(ts pcommon.Timestamp, all []gpu.PendingPods) {
	for _, p := range all {
		r.builder.RecordK8sClusterGpuPodPendingDataPoint(ts, p.Pods, r.options(p.Resource)...)
	}
	r.emit()
}

func (r *ClusterRecorder) node(ts pcommon.Timestamp, n *gpu.NodeResource) {
	opts := append(r.options(n.Resource), metadata.WithK8sNodeNameMetricAttribute(n.Node))
	record := func(value gpu.Opt[int64], point func(pcommon.Timestamp, int64, ...metadata.MetricAttributeOption)) {
		if v, ok := value.Get(); ok {
			point(ts, v, opts...)
		}
	}
	record(n.Capacity, r.builder.RecordK8sNodeGpuCapacityDataPoint)
	record(n.Allocatable, r.builder.RecordK8sNodeGpuAllocatableDataPoint)
	record(gpu.Some(n.Requested), r.builder.RecordK8sNodeGpuRequestedDataPoint)
}

func (r *ClusterRecorder) request(ts pcommon.Timestamp, q *gpu.ContainerRequest) {
	opts := append(r.options(q.Resource),
		metadata.WithK8sNamespaceNameMetricAttribute(q.Namespace),
		metadata.WithK8sPodNameMetricAttribute(q.Pod),
		metadata.WithK8sContainerNameMetricAttribute(q.Container))
	r.builder.RecordK8sContainerGpuRequestDataPoint(ts, q.Count, opts...)
}

// options returns the attributes for the requested resource and for the name of the cluster.
func (r *ClusterRecorder) options(resource string) []metadata.MetricAttributeOption {
	opts := []metadata.MetricAttributeOption{metadata.WithK8sResourceNameMetricAttribute(resource)}
	return withText(opts, r.name, metadata.WithK8sClusterNameMetricAttribute)
}

func sameContainer(a, b *gpu.ContainerRequest) bool {
	return a.Namespace == b.Namespace && a.Pod == b.Pod && a.PodUID == b.PodUID && a.Container == b.Container
}
