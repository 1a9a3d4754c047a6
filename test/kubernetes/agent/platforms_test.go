// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// otherResource is a resource that the receiver does not know. Its devices are not GPUs.
const (
	otherResource = "example.com/fpga"
	otherDevice   = "fpga-7"
)

// jobsOfPod: two jobs of Slurm whose slurmd runs in a pod are two users, and the pod holds the GPU.
func (w *world) jobsOfPod(t *testing.T) {
	w.run(t, "slurmd", box("main", wholeResource, 1))
	device := devices(t, "slurmd", "main")[0]
	slurmd := process(t, "slurmd", "main").pid
	memory := map[string]int64{"12": 6 * gib, "13": 3 * gib}
	pids := map[string]int{}
	for job, bytes := range memory {
		pids[job] = startJob(t, slurmd, job)
		w.witness.process(pids[job], "slurmd", "main")
		w.use(t, user{name: "job" + job, device: device, pid: pids[job], memory: bytes, sm: 20, pod: "slurmd", container: "main"})
	}
	points := w.next(t, func(points harness.Points) bool {
		return len(points.Select("container.gpu.memory.usage", "slurm.job.id", "12")) > 0 &&
			len(points.Select("container.gpu.memory.usage", "slurm.job.id", "13")) > 0
	})
	for job, bytes := range memory {
		used := points.Select("container.gpu.memory.usage", "slurm.job.id", job)
		require.Len(t, used, 1)
		assert.InDelta(t, bytes, used[0].Value, 0)
		assert.Equal(t, device, used[0].Attributes["hw.id"])
		assert.Equal(t, "slurmd", used[0].Resource["k8s.pod.name"])
		assert.Equal(t, "main", used[0].Resource["k8s.container.name"])
		selected := points.Select("process.gpu.memory.usage", "process.pid", strconv.Itoa(pids[job]))
		require.Len(t, selected, 1)
		assert.Equal(t, job, selected[0].Resource["slurm.job.id"])
		assert.Equal(t, "slurmd", selected[0].Resource["k8s.pod.name"])
	}
	allocated := points.Select("container.gpu.allocated", "k8s.pod.name", "slurmd")
	require.Len(t, allocated, 1, "what Slurm allocates is not known")
	assert.InDelta(t, 1, allocated[0].Value, 0)
	assert.Empty(t, allocated[0].Resource["slurm.job.id"])
	own := 0
	for _, p := range points.Select("container.gpu.memory.usage", "k8s.pod.name", "slurmd") {
		if p.Resource["slurm.job.id"] == "" {
			own++
			assert.Zero(t, p.Value, "no process runs in the pod outside of its jobs")
		}
	}
	assert.Equal(t, 1, own)
	for job := range memory {
		endJob(t, slurmd, job, pids[job])
	}
	w.remove(t, "slurmd", "main")
	w.expect(t)
}

// otherDevices: a pod has a device of a resource that is not known to be a GPU resource. It changes nothing for the GPUs: unallocated GPUs
// are known to be unallocated.
func (w *world) otherDevices(t *testing.T) {
	w.run(t, "other", box("main", otherResource, 1))
	w.await(t)
	assert.Contains(t, w.output(), otherResource, "what is ignored is logged")
	w.remove(t, "other")
	w.expect(t)
}

// reserved: a pod in KAI's namespace reserves a GPU for two pods of its group, and each of the two was given a part. The two pods are the
// holders. The reserving pod is not, although the kubelet lists it.
func (w *world) reserved(t *testing.T) {
	const namespace, group = "kai-resource-reservation", "0c5a6e1e-shared"
	_, err := w.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, w.client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
	})
	labels := map[string]string{"runai-gpu-group": group}
	create := func(namespace string, pod *corev1.Pod) {
		eventually(t, "pod "+pod.Name+" is accepted", func() bool { // once the namespace has its service account
			_, err := w.client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
			return err == nil || apierrors.IsAlreadyExists(err)
		})
	}
	create(namespace, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gpu-reservation", Labels: labels}, Spec: spec(box("reservation", wholeResource, 1))})
	device := devices(t, "gpu-reservation", "reservation")[0]
	shares := map[string]string{"tenant-a": "0.5", "tenant-b": "0.25"}
	for name, share := range shares {
		create(w.namespace, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{"gpu-fraction": share}}, Spec: spec(idle("main")),
		})
		w.ready(t, name)
		w.want[name+"/main"] = shared("fraction", holdsOf(wholeResource, device))
	}
	w.place(t, "tenant-a", "main", device, 5*gib, 30)
	points := w.await(t)
	for name, share := range map[string]float64{"tenant-a": 0.5, "tenant-b": 0.25} {
		part, ok := points.Value("container.gpu.share", "k8s.pod.name", name)
		assert.True(t, ok)
		assert.InDelta(t, share, part, 0)
	}
	for _, p := range points {
		if strings.HasPrefix(p.Metric, "container.gpu.") {
			assert.NotEqual(t, "gpu-reservation", p.Resource["k8s.pod.name"], p.Metric)
		}
	}
	for name := range shares {
		w.remove(t, name, "main")
	}
	require.NoError(t, w.client.CoreV1().Pods(namespace).Delete(t.Context(), "gpu-reservation", metav1.DeleteOptions{}))
	eventually(t, "the reservation is gone", func() bool {
		_, err := w.client.CoreV1().Pods(namespace).Get(t.Context(), "gpu-reservation", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	w.expect(t)
}

// jobGroup is the control group of a job below the container of a process, in one hierarchy, as slurmstepd makes it.
func jobGroup(t *testing.T, slurmd int, job string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(slurmd), "cgroup"))
	require.NoError(t, err)
	const below = "system.slice/slurmstepd.scope/job_"
	for line := range strings.Lines(string(content)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		require.Len(t, fields, 3, "line %q", line)
		for _, hierarchy := range []string{fields[1], strings.TrimPrefix(fields[1], "name=")} {
			group := filepath.Join("/sys/fs/cgroup", hierarchy, fields[2])
			if _, err := os.Stat(filepath.Join(group, "cgroup.procs")); err == nil && fields[1] != "cpuset" && fields[2] != "/" {
				return filepath.Join(group, below+job, "step_0", "user", "task_0")
			}
		}
	}
	require.Fail(t, "no control group of the container was found", "%s", content)
	return ""
}

// startJob starts a process of a job in the container of a process, and returns its number in the node's process table.
func startJob(t *testing.T, slurmd int, job string) int {
	t.Helper()
	group := jobGroup(t, slurmd, job)
	require.NoError(t, os.MkdirAll(group, 0o755))
	enter, err := harness.Start(harness.Options{Binary: "/bin/sh", Args: []string{
		"-c", `echo $$ > "$0/cgroup.procs" && exec nsenter --target "$1" --pid --mount -- /pause`, group, strconv.Itoa(slurmd),
	}})
	require.NoError(t, err)
	t.Cleanup(enter.Kill)
	var child int
	eventually(t, "job "+job+" runs", func() bool {
		pid := strconv.Itoa(enter.PID())
		list, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
		if err != nil {
			return false
		}
		child, err = strconv.Atoi(strings.TrimSpace(string(list)))
		if err != nil {
			return false
		}
		name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(child), "comm"))
		return err == nil && strings.TrimSpace(string(name)) == "pause"
	})
	return child
}

// endJob ends a job's process and removes its control groups.
func endJob(t *testing.T, slurmd int, job string, pid int) {
	t.Helper()
	group := jobGroup(t, slurmd, job)
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	_ = process.Kill()
	for range 4 { // job, step, user, task
		eventually(t, "the control group "+group+" is empty", func() bool {
			err := os.Remove(group)
			return err == nil || os.IsNotExist(err)
		})
		group = filepath.Dir(group)
	}
}
