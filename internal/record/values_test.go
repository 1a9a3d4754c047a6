// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// attrs returns attributes by name.
func attrs(pairs ...any) map[string]any {
	attributes := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		attributes[pairs[i].(string)] = pairs[i+1]
	}
	return attributes
}

func TestValuesByHand(t *testing.T) {
	points := recordAll(fullNode())
	for _, m := range metricTests {
		for _, want := range m.samples {
			got := slices.DeleteFunc(otlptest.Of(points, m.name), func(p otlptest.Point) bool { return !contains(p.Attributes, want.attributes) })
			if !assert.Len(t, got, 1, "%s %v", m.name, want.attributes) {
				continue
			}
			assert.Equal(t, m.kind, got[0].Kind, m.name)
			assert.Equal(t, m.unit, got[0].Unit, m.name)
			assert.InDelta(t, want.value, got[0].Value, 1e-9, m.name)
		}
	}
}

func contains(attributes, want map[string]any) bool {
	for name, value := range want {
		if attributes[name] != value {
			return false
		}
	}
	return true
}

// Every point of a device has the identity of the device.
func TestIdentityOnEveryPoint(t *testing.T) {
	points := recordAll(fullNode())
	want := map[string]map[string]any{
		gpuID: attrs("hw.name", "nvidia0", "hw.model", "NVIDIA H100 80GB HBM3", "hw.vendor", "NVIDIA"),
		migID: attrs("hw.name", "nvidia0", "hw.model", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "hw.vendor", "NVIDIA", "hw.parent", gpuID),
		amdID: attrs("hw.name", "card1", "hw.model", "AMD Instinct MI300X", "hw.vendor", "AMD"),
	}
	n := 0
	for _, p := range points {
		if p.Resource["process.pid"] != nil || p.Metric[:3] != "hw." || slices.Contains(nodeLevel, p.Metric) {
			continue
		}
		n++
		id, ok := p.Attributes["hw.id"].(string)
		require.True(t, ok, p.Series())
		require.Contains(t, want, id)
		assert.True(t, contains(p.Attributes, want[id]), p.Series())
		assert.Equal(t, id == migID, p.Attributes["hw.parent"] != nil, p.Series())
	}
	assert.Greater(t, n, 100)
}

// A node has a resource for the host, one for each process, and one for each container.
func TestResources(t *testing.T) {
	metrics := newRecorder(everything()).Record(fullNode())
	var resources []map[string]any
	for _, rm := range metrics.ResourceMetrics().All() {
		resources = append(resources, rm.Resource().Attributes().AsRaw())
		assert.Equal(t, "https://opentelemetry.io/schemas/1.43.0", rm.SchemaUrl())
		assert.Equal(t, rm.SchemaUrl(), rm.ScopeMetrics().At(0).SchemaUrl())
	}
	host := attrs("host.name", "node-a", "k8s.node.name", "node-a", "k8s.cluster.name", "prod")
	assert.Equal(t, withAttribute(host, "k8s.node.label.pool", "gpu"), resources[0])
	pids := map[any]int{}
	containers := 0
	for _, resource := range resources[1:] {
		assert.True(t, contains(resource, host), "%v", resource)
		if pid, ok := resource["process.pid"]; ok {
			pids[pid]++
		} else {
			containers++
		}
	}
	assert.Equal(t, map[any]int{int64(99): 1, int64(4711): 1, int64(4712): 1, int64(4713): 1}, pids)
	assert.Equal(t, 4, containers)

	trained := resources[slices.IndexFunc(resources, func(r map[string]any) bool { return r["process.pid"] == int64(4711) })]
	pod := attrs("container.id", "cafe01", "k8s.namespace.name", "research", "k8s.pod.name", "train-0", "k8s.pod.uid", "0a1b2c3d",
		"k8s.container.name", "trainer", "k8s.replicaset.name", "train-6b", "k8s.replicaset.uid", "rs-1",
		"k8s.deployment.name", "train", "k8s.deployment.uid", "de-1", "k8s.workload.kind", "Deployment", "k8s.workload.name", "train",
		"k8s.pod.label.team", "vision")
	assert.Equal(t, join(host, pod, attrs("process.pid", int64(4711), "process.creation.time", "2026-01-02T01:34:05Z",
		"process.executable.name", "python3", "process.command", "/usr/bin/python3", "process.command_line", "/usr/bin/python3 train.py",
		"process.user.id", int64(1000), "process.owner", "alice")), trained)
	container := resources[slices.IndexFunc(resources, func(r map[string]any) bool {
		return r["process.pid"] == nil && r["k8s.pod.name"] == "train-0"
	})]
	assert.Equal(t, join(host, pod), container)
}

func withAttribute(attributes map[string]any, name string, value any) map[string]any {
	return join(attributes, attrs(name, value))
}

func join(all ...map[string]any) map[string]any {
	joined := map[string]any{}
	for _, attributes := range all {
		maps.Copy(joined, attributes)
	}
	return joined
}

// The name of the host identifies a node that has no name in Kubernetes. Otherwise its points do not have the name of the host.
func TestNodeOnItsPoints(t *testing.T) {
	node := fullNode()
	for _, p := range otlptest.Of(recordAll(node), "hw.gpu.count") {
		assert.Equal(t, "node-a", p.Attributes["k8s.node.name"])
		assert.NotContains(t, p.Attributes, "host.name")
	}
	node.Host.NodeName, node.Host.ClusterName = "", ""
	counts := otlptest.Of(recordAll(node), "hw.gpu.count")
	require.NotEmpty(t, counts)
	for _, p := range counts {
		assert.Equal(t, "node-a", p.Attributes["host.name"])
		assert.NotContains(t, p.Attributes, "k8s.node.name")
		assert.NotContains(t, p.Attributes, "k8s.cluster.name")
	}
}
