// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// flat lists points as metric, value and what the point itself tells, resources aside.
func flat(t *testing.T, metrics pmetric.Metrics) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, metric := range resource.ScopeMetrics().At(0).Metrics().All() {
			require.Equal(t, pmetric.MetricTypeSum, metric.Type())
			require.False(t, metric.Sum().IsMonotonic())
			for _, p := range metric.Sum().DataPoints().All() {
				key := []string{metric.Name()}
				for _, name := range []string{"k8s.node.name", "k8s.pod.name", "k8s.container.name", "k8s.resource.name"} {
					if v, ok := p.Attributes().Get(name); ok {
						key = append(key, v.Str())
					}
				}
				all[strings.Join(key, " ")] = p.IntValue()
			}
		}
	}
	return all
}

func TestRecordCluster(t *testing.T) {
	r := NewCluster(metadata.NewDefaultMetricsBuilderConfig(), receivertest.NewNopSettings(metadata.Type), "prod")
	snapshot := cluster.Snapshot{
		Requests: []cluster.Request{
			{Namespace: "ml", Pod: "train-0", PodUID: "u0", Container: "main", Node: "a", Resource: "nvidia.com/gpu", Count: 4},
			{Namespace: "ml", Pod: "train-0", PodUID: "u0", Container: "main", Node: "a", Resource: "nvidia.com/mig-1g.10gb", Count: 1},
			{Namespace: "ml", Pod: "train-1", PodUID: "u1", Container: "main", Resource: "nvidia.com/gpu", Count: 8},
		},
		Nodes: []cluster.NodeResource{
			{Node: "a", NodeUID: "n", Resource: "nvidia.com/gpu", Capacity: gpu.Some[int64](8), Allocatable: gpu.Some[int64](7), Requested: 4},
			{Node: "b", Resource: "nvidia.com/gpu", Requested: 2},
		},
		Pending: []cluster.Pending{{Resource: "nvidia.com/gpu", Pods: 1}, {Resource: "amd.com/gpu", Pods: 0}},
	}
	metrics := r.Record(snapshot, time.Unix(1700000000, 0))
	assert.Equal(t, map[string]int64{
		"k8s.cluster.gpu.pods.pending nvidia.com/gpu":                   1,
		"k8s.cluster.gpu.pods.pending amd.com/gpu":                      0,
		"k8s.node.gpu.capacity a nvidia.com/gpu":                        8,
		"k8s.node.gpu.allocatable a nvidia.com/gpu":                     7,
		"k8s.node.gpu.requested a nvidia.com/gpu":                       4,
		"k8s.node.gpu.requested b nvidia.com/gpu":                       2,
		"k8s.container.gpu.request train-0 main nvidia.com/gpu":         4,
		"k8s.container.gpu.request train-0 main nvidia.com/mig-1g.10gb": 1,
		"k8s.container.gpu.request train-1 main nvidia.com/gpu":         8,
	}, flat(t, metrics), "node b has no capacity: absent, not 0")
	assert.Empty(t, otlptest.Collisions(metrics))
	require.Equal(t, 5, metrics.ResourceMetrics().Len(), "cluster, two nodes, two containers")
	for _, resource := range metrics.ResourceMetrics().All() {
		name, _ := resource.Resource().Attributes().Get("k8s.cluster.name")
		assert.Equal(t, "prod", name.Str())
		_, ok := resource.Resource().Attributes().Get("host.name")
		assert.False(t, ok)
	}
}
