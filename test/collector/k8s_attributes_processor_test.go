// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// The standard k8s_attributes processor enriches our data without changes: config/k8s-attributes.yaml, with a kubeconfig in place of a
// service account. The receiver itself does not use an API server here.
func TestK8sAttributesProcessor(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, workloadObjects())
	n := prepareWorkloads(t)
	n.start(shipped{
		configs: []string{"k8s-attributes.yaml"},
		more:    "processors: {k8s_attributes: {auth_type: kubeConfig}}",
		env:     []string{"KUBECONFIG=" + server.kubeconfig},
	})
	points := n.next("workloads with the processor's attributes", func(points harness.Points) bool {
		return attributed(points) && len(withResource(points, "container.gpu.allocated", "k8s.pod.label.team")) >= 6
	})

	for _, metric := range []string{"container.gpu.memory.usage", "process.gpu.memory.usage"} {
		for w, want := range map[workload]map[string]string{
			serverA: {
				"k8s.deployment.name": "server", "k8s.pod.label.team": "language", "k8s.namespace.name": "ml", "k8s.pod.name": "server-a",
				"container.image.name": "registry.example/server-a",
			},
			training: {"k8s.job.name": "train", "k8s.pod.label.team": "language", "k8s.pod.name": "train-0"},
			stowaway: {"k8s.pod.label.team": "vision", "k8s.pod.name": "stowaway-0"},
		} {
			count := 0
			for _, p := range points.Select(metric) {
				if p.Resource["k8s.pod.uid"] != w.uid() {
					continue
				}
				count++
				for name, value := range want {
					assert.Equal(t, value, p.Resource[name], "%s of %s: %s", metric, w.pod, name)
				}
				assert.Equal(t, "node-a", p.Resource["k8s.node.name"], "what we say ourselves stays")
				assert.Equal(t, "prod", p.Resource["k8s.cluster.name"])
			}
			assert.NotZero(t, count, "%s of %s", metric, w.pod)
		}
	}
	notebooks := points.Select("container.gpu.allocated", "k8s.pod.name", notebook.pod)
	require.Len(t, notebooks, 1, "a container that only holds a GPU has the pod's UID too, by the names of the log files")
	assert.Equal(t, "notebook", notebooks[0].Resource["k8s.statefulset.name"])

	// Points without a pod are left unchanged.
	for _, p := range points.Select("hw.power") {
		assert.NotContains(t, p.Resource, "k8s.pod.name")
		assert.NotContains(t, p.Resource, "k8s.pod.label.team")
	}
	daemon := points.Select("process.gpu.memory.usage", "process.pid", "5099")
	require.Len(t, daemon, 1)
	assert.NotContains(t, daemon[0].Resource, "k8s.pod.name")
	// The requests stay within the permissions of deploy/kubernetes/components/k8s-attributes.
	assert.Subset(t, []string{"list pods", "watch pods", "list namespaces", "watch namespaces"}, server.requests())
}

// withResource returns the points of a metric whose resource has an attribute.
func withResource(points harness.Points, metric, attribute string) harness.Points {
	var result harness.Points
	for _, p := range points.Select(metric) {
		if p.Resource[attribute] != "" {
			result = append(result, p)
		}
	}
	return result
}
