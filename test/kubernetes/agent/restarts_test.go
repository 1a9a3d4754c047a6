// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// restart ends a container's process, and waits until the kubelet has restarted the container.
func (w *world) restart(t *testing.T, pod, container string) {
	t.Helper()
	before := process(t, pod, container)
	require.NoError(t, syscall.Kill(before.pid, syscall.SIGKILL))
	eventually(t, "the container is restarted", func() bool {
		now, ok := find(pod, container)
		return ok && now.pid != before.pid
	})
}

// steady requires that all messages since a moment reported exactly the expected holders.
func (w *world) steady(t *testing.T, since time.Time) {
	t.Helper()
	want := map[string]bool{}
	for key, holds := range w.want {
		for _, h := range holds {
			if h.resource != "" {
				want[key+" "+h.device] = true
			}
		}
	}
	messages := w.witness.since(since)
	for i, m := range messages {
		assert.Equal(t, want, m.holds, "message %d of %d, %v after", i, len(messages), m.time.Sub(since))
	}
	t.Logf("%d messages in %.1f s", len(messages), time.Since(since).Seconds())
}

// restartKubelet ends the kubelet, and waits until the next one answers.
func (w *world) restartKubelet(t *testing.T) {
	t.Helper()
	before, err := w.cluster.Component(cluster.Kubelet)
	require.NoError(t, err)
	require.NoError(t, w.cluster.Signal(cluster.Kubelet, syscall.SIGKILL))
	eventually(t, "the kubelet is restarted", func() bool {
		now, err := w.cluster.Component(cluster.Kubelet)
		return err == nil && now != before
	})
}

// kubeletSettled waits until the kubelet has run long enough that a collector without earlier state trusts its answers.
func (w *world) kubeletSettled(t *testing.T) {
	t.Helper()
	eventually(t, "the kubelet has run for a while", func() bool {
		info, err := os.Stat(w.cluster.Kubelet("pod-resources", "kubelet.sock"))
		return err == nil && time.Since(info.ModTime()) > 11*time.Second
	})
}

// containerRestarts: the container's new instance has another id, and its process is another one.
func (w *world) containerRestarts(t *testing.T) {
	device := w.want["train/main"][0].device
	w.restart(t, "train", "main")
	w.unuse(t, "train.main."+device)
	w.expect(t)
	w.place(t, "train", "main", device, 5*gib, 100)
	w.expect(t)
}

// pluginRestarts: while the device plugin is away the node cannot allocate its devices, and containers keep theirs.
func (w *world) pluginRestarts(t *testing.T) {
	start := time.Now()
	w.plugin.Kill()
	eventually(t, "the node has nothing to give", func() bool {
		node, err := w.client.CoreV1().Nodes().Get(t.Context(), cluster.NodeName, metav1.GetOptions{})
		return err == nil && node.Status.Allocatable.Name(wholeResource, resource.DecimalSI).IsZero()
	})
	w.expect(t)
	w.startPlugin(t)
	eventually(t, "the node has the devices", func() bool { return w.offered(t) })
	w.expect(t)
	w.steady(t, start)
}

func (w *world) kubeletRestarts(t *testing.T) {
	start := time.Now()
	w.restartKubelet(t)
	eventually(t, "the kubelet knows its pods again", func() bool {
		_, err := w.kubelet.list()
		return err == nil && len(w.kubelet.holds(t)) > 0
	})
	w.expect(t)
	w.steady(t, start)
	eventually(t, "the plugins have registered again", func() bool { return w.offered(t) })

	// Changes from now on are reported.
	w.remove(t, "wide", "main", "side")
	w.expect(t)
	w.run(t, "wide", box("main", wholeResource, 2))
	w.want["wide/main"] = holdsOf(wholeResource, devices(t, "wide", "main")...)
	w.expect(t)
}

// kubeletHangs: its last answer stays in use, and the failure is logged once.
func (w *world) kubeletHangs(t *testing.T) {
	want, err := w.expected(t.Context())
	require.NoError(t, err)
	before := len(w.collector.Complaints())
	start := time.Now()
	thaw := w.cluster.Freeze(t, cluster.Kubelet)
	for range 4 {
		points := w.next(t, func(harness.Points) bool { return true })
		require.Equal(t, want.String(), pictureOf(points).String())
	}
	thaw()
	w.expect(t)
	w.steady(t, start)
	complaints := w.collector.Complaints()[before:]
	require.Len(t, complaints, 1)
	assert.Contains(t, complaints[0], "the kubelet did not answer in time")
}

// collectorRestarts: the first message has the names.
func (w *world) collectorRestarts(t *testing.T, owners string) {
	w.kubeletSettled(t)
	w.stopCollector(t)
	start := time.Now()
	w.startCollector(t, askKubelet, processes, owners)
	w.expect(t)
	w.steady(t, start)
}

// bothRestart: the collector has no earlier state, and the kubelet's state is still incomplete. Everything that is reported until then is
// correct.
func (w *world) bothRestart(t *testing.T, owners string) {
	allocated := func(points harness.Points) map[string]float64 {
		values := map[string]float64{}
		for _, p := range points.Select("hw.gpu.allocated") {
			values[p.Attributes["hw.id"]] = p.Value
		}
		return values
	}
	want := allocated(w.next(t, func(harness.Points) bool { return true }))
	require.Len(t, want, gpus+2)
	w.stopCollector(t)
	w.restartKubelet(t)
	w.startCollector(t, askKubelet, processes, owners)
	messages := 0
	w.next(t, func(points harness.Points) bool {
		present := allocated(points)
		assert.Subset(t, want, present)
		messages++
		return len(present) == len(want)
	})
	t.Logf("everything is reported by message %d", messages)
	w.expect(t)
	eventually(t, "the plugins have registered again", func() bool { return w.offered(t) })
}
