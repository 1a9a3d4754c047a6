// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// flat returns the values of the points by metric and attributes, without resources.
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
	r := NewCluster(metadata.NewDefaultMetricsBuilderConfig(), receivertest.NewNopSettings(metadata.Type), "kubernetes_cluster", "prod")
	snapshot := gpu.Cluster{
		Requests: []gpu.ContainerRequest{
			{Namespace: "ml", Pod: "train-0", PodUID: "u0", Container: "main", Node: "a", Resource: "nvidia.com/gpu", Count: 4},
			{Namespace: "ml", Pod: "train-0", PodUID: "u0", Container: "main", Node: "a", Resource: "nvidia.com/mig-1g.10gb", Count: 1},
			{Namespace: "ml", Pod: "train-1", PodUID: "u1", Container: "main", Resource: "nvidia.com/gpu", Count: 8},
		},
		Nodes: []gpu.NodeResource{
			{Node: "a", NodeUID: "n", Resource: "nvidia.com/gpu", Capacity: gpu.Some[int64](8), Allocatable: gpu.Some[int64](7), Requested: 4},
			{Node: "b", Resource: "nvidia.com/gpu", Requested: 2},
		},
		Pending: []gpu.PendingPods{{Resource: "nvidia.com/gpu", Pods: 1}, {Resource: "amd.com/gpu", Pods: 0}},
	}
	metrics := r.Record(&snapshot, time.Unix(1700000000, 0), nil)
	assert.Equal(t, "https://opentelemetry.io/schemas/1.43.0", metrics.ResourceMetrics().At(0).ScopeMetrics().At(0).SchemaUrl())
	assert.Equal(t, map[string]int64{
		"hw.gpu.source.readable":                                        1,
		"k8s.cluster.gpu.pod.pending nvidia.com/gpu":                    1,
		"k8s.cluster.gpu.pod.pending amd.com/gpu":                       0,
		"k8s.node.gpu.capacity a nvidia.com/gpu":                        8,
		"k8s.node.gpu.allocatable a nvidia.com/gpu":                     7,
		"k8s.node.gpu.requested a nvidia.com/gpu":                       4,
		"k8s.node.gpu.requested b nvidia.com/gpu":                       2,
		"k8s.container.gpu.request train-0 main nvidia.com/gpu":         4,
		"k8s.container.gpu.request train-0 main nvidia.com/mig-1g.10gb": 1,
		"k8s.container.gpu.request train-1 main nvidia.com/gpu":         8,
	}, flat(t, metrics), "node b has no capacity: absent, not 0")
	assert.Empty(t, otlptest.Collisions(metrics))
	assert.Equal(t, []map[string]any{
		attrs("k8s.cluster.name", "prod"),
		attrs("k8s.cluster.name", "prod", "k8s.node.name", "a", "k8s.node.uid", "n"),
		attrs("k8s.cluster.name", "prod", "k8s.node.name", "b"),
		attrs("k8s.cluster.name", "prod", "k8s.namespace.name", "ml", "k8s.pod.name", "train-0", "k8s.pod.uid", "u0",
			"k8s.container.name", "main", "k8s.node.name", "a"),
		attrs("k8s.cluster.name", "prod", "k8s.namespace.name", "ml", "k8s.pod.name", "train-1", "k8s.pod.uid", "u1",
			"k8s.container.name", "main"),
	}, resourcesOf(metrics), "the cluster, two nodes, two containers")
}

// A cluster that could not be read is sent with its name and the reason, also if nothing is known of it.
func TestUnreadCluster(t *testing.T) {
	r := NewCluster(everything(), newSettings(), "kubernetes_cluster", "prod")
	failure := &gpu.Failure{Reason: gpu.FailureAPIForbidden, Err: errors.New("no right")}
	for i, want := range []struct {
		failure          *gpu.Failure
		readable, failed float64
	}{{failure, 0, 1}, {nil, 1, 0}} {
		points := otlptest.Points(r.Record(&gpu.Cluster{}, time.Unix(1700000000+int64(i), 0), want.failure))
		require.Len(t, points, 2)
		assert.Equal(t, attrs("hw.gpu.source.name", "kubernetes_cluster", "k8s.cluster.name", "prod"), otlptest.Of(points, "hw.gpu.source.readable")[0].Attributes)
		assert.InDelta(t, want.readable, otlptest.Of(points, "hw.gpu.source.readable")[0].Value, 0)
		assert.Equal(t, attrs("hw.gpu.source.name", "kubernetes_cluster", "k8s.cluster.name", "prod", "error.type", "api_forbidden"),
			otlptest.Of(points, "hw.gpu.source.failure")[0].Attributes)
		assert.InDelta(t, want.failed, otlptest.Of(points, "hw.gpu.source.failure")[0].Value, 0)
	}
}

func resourcesOf(metrics pmetric.Metrics) []map[string]any {
	var all []map[string]any
	for _, rm := range metrics.ResourceMetrics().All() {
		all = append(all, rm.Resource().Attributes().AsRaw())
	}
	return all
}

// Containers that differ in one name are separate resources.
func TestClusterContainersApart(t *testing.T) {
	first := gpu.ContainerRequest{Namespace: "ml", Pod: "train-0", PodUID: "u0", Container: "main", Resource: "nvidia.com/gpu", Count: 1}
	for name, change := range map[string]func(*gpu.ContainerRequest){
		"k8s.namespace.name": func(q *gpu.ContainerRequest) { q.Namespace = "other" },
		"k8s.pod.name":       func(q *gpu.ContainerRequest) { q.Pod = "other" },
		"k8s.pod.uid":        func(q *gpu.ContainerRequest) { q.PodUID = "other" },
		"k8s.container.name": func(q *gpu.ContainerRequest) { q.Container = "other" },
	} {
		second := first
		change(&second)
		r := NewCluster(metadata.NewDefaultMetricsBuilderConfig(), receivertest.NewNopSettings(metadata.Type), "kubernetes_cluster", "")
		resources := resourcesOf(r.Record(&gpu.Cluster{Requests: []gpu.ContainerRequest{first, second}}, time.Unix(1700000000, 0), nil))
		if assert.Len(t, resources, 3, name) {
			assert.Equal(t, withAttribute(resources[1], name, "other"), resources[2])
		}
	}
}
