// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// apiServerAway: the last known names stay in use, and a restarted container still belongs to its pod.
func (w *world) apiServerAway(t *testing.T) {
	want, err := w.expected(t.Context())
	require.NoError(t, err)
	start := time.Now()
	thaw := w.cluster.Freeze(t, cluster.APIServer)
	for range 6 {
		points := w.next(t, func(harness.Points) bool { return true })
		require.Equal(t, want.String(), pictureOf(points).String())
	}
	w.steady(t, start)
	thaw()
	w.expect(t)
}

// containerAlone: the API server does not report the new instance of a container, but the names of the log files do.
func (w *world) containerAlone(t *testing.T) {
	thaw := w.cluster.Freeze(t, cluster.APIServer)
	for _, h := range w.want["wide/main"] {
		w.unuse(t, "wide.main."+h.device)
	}
	w.restart(t, "wide", "main")
	w.place(t, "wide", "main", w.want["wide/main"][0].device, 2*gib, 10)
	w.place(t, "wide", "main", w.want["wide/main"][1].device, 3*gib, 20)
	id := w.containerID(t, process(t, "wide", "main").pid)
	selected := func(points harness.Points, metric string) harness.Points {
		return slices.DeleteFunc(points.Select(metric), func(p harness.Point) bool { return p.Resource["container.id"] != id })
	}
	points := w.next(t, func(points harness.Points) bool { return len(selected(points, "process.gpu.memory.usage")) == 2 })
	for _, metric := range []string{"process.gpu.memory.usage", "container.gpu.allocated", "container.gpu.memory.usage"} {
		got := selected(points, metric)
		require.Len(t, got, 2, metric)
		for _, p := range got {
			assert.Equal(t, "wide", p.Resource["k8s.pod.name"], metric)
			assert.Equal(t, "main", p.Resource["k8s.container.name"], metric)
			assert.NotEmpty(t, p.Resource["k8s.pod.uid"], metric)
		}
	}
	assert.Len(t, points.Select("container.gpu.allocated", "k8s.pod.name", "wide"), 2, "the former instance holds nothing")
	thaw()
	w.expect(t)
}

// containerID asks the container runtime for the container of a process.
func (w *world) containerID(t *testing.T, pid int) string {
	t.Helper()
	output, err := w.cluster.Containerd(t.Context(), "tasks", "list")
	require.NoError(t, err, string(output))
	for line := range strings.Lines(string(output)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			return fields[0]
		}
	}
	require.FailNow(t, "no such task", "%d in\n%s", pid, output)
	return ""
}

// kubeletAlone: a kubelet that starts while the API server is away knows no pods.
func (w *world) kubeletAlone(t *testing.T) {
	want, err := w.expected(t.Context())
	require.NoError(t, err)
	thaw := w.cluster.Freeze(t, cluster.APIServer)
	start := time.Now()
	w.restartKubelet(t)
	for range 10 {
		points := w.next(t, func(harness.Points) bool { return true })
		require.Equal(t, want.String(), pictureOf(points).String())
	}
	thaw()
	eventually(t, "the kubelet knows its pods again", func() bool {
		_, err := w.kubelet.list()
		return err == nil && len(w.kubelet.holds(t)) > 0
	})
	w.expect(t)
	w.steady(t, start)
	eventually(t, "the plugins have registered again", func() bool { return w.offered(t) })
}

// collectorAlone: a collector that starts while the API server is away gets the names from the log files, and no owners until the API
// server is back.
func (w *world) collectorAlone(t *testing.T, owners string) {
	w.kubeletSettled(t)
	// Without the API, a device that its CDI file does not identify stays unidentified.
	w.remove(t, "dynamic", "main")
	require.NoError(t, w.client.ResourceV1().ResourceClaims(w.namespace).Delete(t.Context(), "both", metav1.DeleteOptions{}))
	w.claim(t, "by-node", gpu(nodeGPU))
	// The pod has a unique name: the logs of a deleted pod stay for a while, and then one name would mean two pods.
	w.runSpec(t, "lonely", withClaim("by-node", idle("main")))
	w.want["lonely/main"] = claimed(gpu(nodeGPU))
	w.expect(t)

	w.names = fromLogs
	want, err := w.expected(t.Context())
	require.NoError(t, err)
	w.stopCollector(t)
	thaw := w.cluster.Freeze(t, cluster.APIServer)
	w.startCollector(t, askKubelet, processes, owners)
	points := w.next(t, func(points harness.Points) bool { return len(points.Select("container.gpu.allocated")) > 0 })
	require.Equal(t, want.String(), pictureOf(points).String())
	thaw()
	w.names = fromAPI
	w.expect(t)
}
