// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// noAPI: names, UIDs and ids come from the names of the kubelet's log files.
func (w *world) noAPI(t *testing.T) {
	w.stopCollector(t)
	w.names = fromLogs
	w.startCollector(t, askKubelet, processes)
	w.expect(t)
	w.place(t, "lonely", "main", gpu(nodeGPU), 4*gib, 15)
	w.expect(t)
	device := w.want["train/main"][0].device
	w.unuse(t, "train.main."+device)
	w.restart(t, "train", "main")
	w.place(t, "train", "main", device, 5*gib, 100)
	w.expect(t)
}

// noNames: without the API and the log files, holders are reported by name, and users by UID and id.
func (w *world) noNames(t *testing.T) {
	w.stopCollector(t)
	empty := filepath.Join(w.dir, "empty")
	require.NoError(t, os.MkdirAll(empty, 0o750))
	w.startCollector(t, askKubelet, "      processes: {log_path: "+empty+"}\n")
	device := w.want["train/main"][0].device
	points := w.next(t, func(points harness.Points) bool {
		return len(points.Select("container.gpu.memory.usage")) > 0
	})
	var byName, byID []harness.Point
	for _, metric := range []string{"container.gpu.allocated", "container.gpu.memory.usage"} {
		for _, p := range points.Select(metric, "hw.id", device) {
			if p.Resource["k8s.pod.name"] != "" {
				byName = append(byName, p)
			} else {
				byID = append(byID, p)
			}
		}
	}
	require.Len(t, byName, 1)
	assert.Equal(t, "container.gpu.allocated", byName[0].Metric)
	assert.Equal(t, "train", byName[0].Resource["k8s.pod.name"])
	assert.NotContains(t, byName[0].Resource, "k8s.pod.uid")
	assert.NotContains(t, byName[0].Resource, "container.id")
	require.Len(t, byID, 1)
	assert.Equal(t, "container.gpu.memory.usage", byID[0].Metric)
	assert.NotEmpty(t, byID[0].Resource["k8s.pod.uid"])
	assert.NotEmpty(t, byID[0].Resource["container.id"])
	_, known := points.Value("container.gpu.idle.time", "hw.id", device)
	assert.False(t, known, "it is unknown whether the holder is idle")
}

// noSocket: that the kubelet cannot be reached is logged once. Users are still reported, holders are not.
func (w *world) noSocket(t *testing.T) {
	w.stopCollector(t)
	w.startCollector(t, "      pod_resources: {endpoint: \"unix:///var/lib/kubelet/elsewhere.sock\"}\n", processes)
	w.usesAlone(t)
	complaints := w.collector.Complaints()
	require.Len(t, complaints, 1)
	assert.Contains(t, complaints[0], "mount the kubelet's directory pod-resources there")
}

// refused: only root may query the kubelet. The user of this test may read all files, so that it can be started from here.
func (w *world) refused(t *testing.T) {
	w.stopCollector(t)
	const user = 10001
	require.NoError(t, filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, user, user)
	}))
	w.startCollectorBy(t, []string{
		"setpriv", "--reuid=" + strconv.Itoa(user), "--regid=" + strconv.Itoa(user), "--clear-groups",
		"--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
	}, askKubelet, processes)
	w.usesAlone(t)
	complaints := w.collector.Complaints()
	require.Len(t, complaints, 1, "said once")
	assert.Contains(t, complaints[0], "permission denied")
	assert.Contains(t, complaints[0], "run as user 0")
}

// otherProcesses: in a PID namespace of its own the collector sees other processes under the PIDs that the driver reports. That is logged
// once, and no process is mistaken for another.
func (w *world) otherProcesses(t *testing.T) {
	w.stopCollector(t)
	w.startCollectorBy(t, []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}, askKubelet, processes)
	for range 3 {
		points := w.next(t, func(harness.Points) bool { return true })
		for _, p := range points.Select("process.gpu.memory.usage") {
			assert.NotContains(t, p.Resource, "process.executable.name")
			assert.NotContains(t, p.Resource, "k8s.pod.uid")
		}
		allocated, ok := points.Value("container.gpu.allocated", "k8s.pod.name", "train")
		assert.True(t, ok)
		assert.InDelta(t, 1, allocated, 0)
		assert.Empty(t, points.Select("container.gpu.memory.usage"), "what each uses is not known")
		assert.Empty(t, points.Select("container.gpu.idle.time"))
	}
	complaints := w.collector.Complaints()
	require.Len(t, complaints, 1)
	assert.Contains(t, complaints[0], "hostPID")
}

// usesAlone requires that users of GPUs are reported and holders are not.
func (w *world) usesAlone(t *testing.T) {
	t.Helper()
	for range 3 {
		points := w.next(t, func(points harness.Points) bool {
			return len(points.Select("container.gpu.memory.usage")) > 0
		})
		usage, ok := points.Value("container.gpu.memory.usage", "k8s.pod.name", "train", "k8s.container.name", "main")
		assert.True(t, ok)
		assert.InDelta(t, 5*gib, usage, 0)
		assert.Empty(t, points.Select("container.gpu.allocated"))
		assert.Empty(t, points.Select("hw.gpu.allocated"))
		assert.Empty(t, points.Select("container.gpu.idle.time"))
	}
}
