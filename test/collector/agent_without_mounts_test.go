// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// Without one of the agent's mounts, the values that docs/operate/security.md lists are absent, and all values that are sent are correct.
func TestAgentWithoutMounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attribution string
		said        string // in the log
		whole       func(points harness.Points) bool
		check       func(t *testing.T, points harness.Points)
	}{
		"no host PID namespace": {
			"processes: {any_pid_namespace: false}", "run with hostPID: true",
			func(points harness.Points) bool {
				return len(points.Select("process.gpu.memory.usage")) == 6 && len(points.Select("container.gpu.allocated")) == 5 &&
					len(points.Select("container.gpu.idle.time")) > 0
			},
			func(t *testing.T, points harness.Points) {
				t.Helper()
				for _, p := range points.Select("process.gpu.memory.usage") {
					assert.NotContains(t, p.Resource, "process.executable.name")
					assert.NotContains(t, p.Resource, "container.id")
				}
				assert.Equal(t, []string{notebook.pod}, points.Select("container.gpu.memory.usage").Distinct("k8s.pod.name"))
				assert.Equal(t, []string{notebook.pod}, points.Select("container.gpu.idle.time").Distinct("k8s.pod.name"))
			},
		},
		"no kubelet's socket": {
			"pod_resources: {endpoint: unix:///nonexistent/kubelet.sock}", "mount the kubelet's directory pod-resources",
			func(points harness.Points) bool { return len(points.Select("container.gpu.memory.usage")) == 6 }, // of five containers and a unit
			func(t *testing.T, points harness.Points) {
				t.Helper()
				for _, metric := range []string{
					"hw.gpu.allocated", "container.gpu.allocated", "container.gpu.idle.time", "container.gpu.memory.limit",
				} {
					assert.Empty(t, points.Select(metric), metric)
				}
			},
		},
		"no logs": {
			"processes: {log_path: /nonexistent}", "",
			func(points harness.Points) bool {
				return len(points.Select("container.gpu.memory.usage", "hw.id", gpu(0))) == 1 && len(points.Select("container.gpu.idle.time")) > 0
			},
			func(t *testing.T, points harness.Points) {
				t.Helper()
				for _, p := range points.Select("container.gpu.allocated", "k8s.pod.name", training.pod) {
					assert.NotContains(t, p.Resource, "k8s.pod.uid")
				}
				for _, p := range points.Select("container.gpu.memory.usage", "hw.id", gpu(0)) {
					assert.Equal(t, training.uid(), p.Resource["k8s.pod.uid"])
					assert.Equal(t, training.id(), p.Attributes["container.id"])
					assert.NotContains(t, p.Resource, "k8s.pod.name")
				}
				assert.Equal(t, []string{notebook.pod}, points.Select("container.gpu.idle.time").Distinct("k8s.pod.name"))
				// If a device has a holder, it is not known whether the user of the device is that holder.
				assert.Empty(t, points.Select("container.gpu.allocated", "container.id", training.id()))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := prepareWorkloads(t)
			n.start(shipped{configs: []string{"agent-kubernetes.yaml"}, more: "receivers: {gpu: {attribution: {" + c.attribution + "}}}"})
			c.check(t, n.next("the GPUs", func(points harness.Points) bool { return len(points.Select("hw.power")) == 8 && c.whole(points) }))
			assert.Contains(t, n.process.Output(), c.said)
		})
	}
}
