// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

func itoa(n int) string { return strconv.Itoa(n) }

// machineTable reports whether /proc is the machine's own process table: process 2 is a kernel thread there.
func machineTable() bool {
	const kernelThread = 0x00200000
	stat, err := os.ReadFile("/proc/2/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err == nil && flags&kernelThread != 0
}

// gpus gives the node a capacity of GPUs, or removes it if none is given.
func (s *stage) gpus(t *testing.T, count string) {
	t.Helper()
	patch := `[{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "` + count + `"}]`
	if count == "" {
		patch = `[{"op": "remove", "path": "/status/capacity/nvidia.com~1gpu"}]`
	}
	_, err := s.Client.CoreV1().Nodes().Patch(t.Context(), cluster.NodeName, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
}

// testRestarts replaces the driver pod, and then its container alone.
func testRestarts(t *testing.T, s *stage) {
	b := s.start(t, shippedAccount, "")
	b.next(t, twoGPUs)
	before := s.ReadyPod(t, gpuOperator, driverLabel)
	require.NoError(t, s.Client.CoreV1().Pods(gpuOperator).Delete(t.Context(), before.Name, metav1.DeleteOptions{}))
	eventually(t, "another pod", func() bool {
		list, err := s.Client.CoreV1().Pods(gpuOperator).List(t.Context(), metav1.ListOptions{LabelSelector: driverLabel})
		return err == nil && len(list.Items) == 1 && list.Items[0].UID != before.UID
	})
	pod := s.ReadyPod(t, gpuOperator, driverLabel)
	requireNode(t, b.next(t, twoGPUs))

	instance := pod.Status.ContainerStatuses[0].ContainerID
	require.NoError(t, syscall.Kill(s.ContainerPID(t, pod, driverContainer), syscall.SIGKILL))
	eventually(t, "another container", func() bool {
		now := s.ReadyPod(t, gpuOperator, driverLabel)
		return now.Status.ContainerStatuses[0].ContainerID != instance
	})
	requireNode(t, b.next(t, twoGPUs))
}

// testDeleted deletes all driver pods; they come back later.
func testDeleted(t *testing.T, s *stage) {
	b := s.start(t, shippedAccount, "targets: [{label_selector: app=brief, container: bare}]")
	none := func() int {
		return b.said(`"what": "driver pods"`, "no pod with app=brief", "install the GPU operator", "Read failed")
	}
	eventually(t, "it says that there are none", func() bool { return none() == 1 })
	t.Run("there", func(t *testing.T) {
		s.drivers(t, gpuOperator, "brief", true, "bare", bareImage)
		b.next(t, twoGPUs)
	})
	eventually(t, "it says so again", func() bool { return none() == 2 })
	b.silent(t)
}

// testStopped deletes the driver pod while the tool runs in it: the read fails, but the GPUs are not reported as failed.
func testStopped(t *testing.T, s *stage) {
	b := s.start(t, shippedAccount, "")
	b.next(t, twoGPUs)
	s.replay(t, state{Mode: "hang"})
	defer s.replay(t, state{Mode: "good"})
	eventually(t, "the tool runs", func() bool { tools, _ := s.tools(t); return len(tools) > 0 })
	pod, now := s.ReadyPod(t, gpuOperator, driverLabel), int64(0)
	require.NoError(t, s.Client.CoreV1().Pods(gpuOperator).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	s.replay(t, state{Mode: "good"})
	requireNode(t, b.next(t, twoGPUs))
	b.says(t, `"what": "read"`, "its container was stopped")
	assert.Zero(t, b.said("GPU unhealthy"))
}
