// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// A tool that does not end is not a successful read, whether the node's GPUs are known or not. The node continues to be read and sent
// as often as before.
func TestToolThatHangs(t *testing.T) {
	for name, before := range map[string]time.Duration{"at first": 0, "later": 3 * interval} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				c, machines, s, plans := bare(1, 1)
				if before == 0 {
					machines.failing["node-0"] = command.ErrTimeout
				}
				c.follow(ctx, plans)
				time.Sleep(before)
				machines.set(func() { machines.failing["node-0"] = command.ErrTimeout })
				time.Sleep(10 * interval)
				stats := c.stats().Nodes[0]
				assert.True(t, stats.Read)
				assert.False(t, stats.Success)
				assert.Equal(t, before == 0, stats.LastGood.IsZero())
				assert.Zero(t, stats.Failures, "of those by which it is read less often")
				good, failed, _, _ := s.state("c/node-0")
				assert.GreaterOrEqual(t, good, 9)
				assert.Zero(t, failed)

				machines.set(func() { delete(machines.failing, "node-0") })
				time.Sleep(2 * interval)
				assert.True(t, c.stats().Nodes[0].Success)
				cancel()
				c.reading.Wait()
			})
		})
	}
}

// A read that fails says nothing about the GPUs: those that are known are passed on as unread, by their identities alone.
func TestKnownGPUsStay(t *testing.T) {
	c, _, s, _ := bare(1, 0)
	pods := &direct{boxes: map[string]exectest.Box{"n1": (&exectest.Machine{UUID: "GPU-1"}).Box()}}
	c.executor = pods
	now := time.Now()
	c.now = func() time.Time { return now }
	p := planOf(c, "n1", "first")
	n := newNode(c, "n1", p)
	read := func(p *plan) { n.read(t.Context(), p, &p.jobs[0]) }
	read(p)
	_, failed, good, _ := s.state("c/n1")
	require.Zero(t, failed)
	require.Len(t, good.Devices, 1)
	require.True(t, good.Devices[0].Utilization[gpu.TaskGeneral].Known())
	requireUnread := func(reason gpu.FailureReason, err error, node gpu.Node) {
		t.Helper()
		assert.Equal(t, reason, gpu.FailureOf(err).Reason)
		require.Len(t, node.Devices, 1)
		want := inventory.Identity(&good.Devices[0])
		want.Unread, want.ProcessesUnread = true, true
		assert.Equal(t, want, node.Devices[0])
		assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, node.Presence)
		assert.Equal(t, gpu.Host{NodeName: "n1", ClusterName: "c"}, node.Host)
	}
	for reason, err := range map[gpu.FailureReason]error{
		gpu.FailureAPIUnreachable: &gpu.Failure{Reason: gpu.FailureAPIUnreachable, Err: errors.New("refused")},
		gpu.FailureAPIForbidden:   &gpu.Failure{Reason: gpu.FailureAPIForbidden, Err: errors.New("no right")},
		gpu.FailureExec:           &gpu.Failure{Reason: gpu.FailureExec, Err: &exec.StartError{Message: "container not found"}},
	} {
		pods.boxes["n1"] = func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) { return 0, err }
		read(p)
		_, _, _, err := s.state("c/n1")
		requireUnread(reason, err, s.unreadOf("c/n1"))
	}

	// The tool is killed at the end of its time. It may only be slow, and does not show which GPU hangs, if any does.
	pods.boxes["n1"] = exectest.Commands(func([]string, io.Writer, io.Writer, <-chan struct{}) int {
		now = now.Add(time.Minute)
		return 137
	})
	read(p)
	_, _, slow, err := s.state("c/n1")
	require.NoError(t, err)
	require.ErrorContains(t, slow.Failure, "did not end in time")
	requireUnread(gpu.FailureTimeout, slow.Failure, slow)

	// Only the chosen container lacks the tool.
	pods.boxes["n1"] = exectest.Commands(func([]string, io.Writer, io.Writer, <-chan struct{}) int { return 127 })
	read(planOf(c, "n1", "second"))
	_, _, node, err := s.state("c/n1")
	require.NoError(t, err)
	requireUnread(gpu.FailureToolMissing, node.Failure, node)
	assert.Equal(t, map[instance]bool{{ToolNvidiaSMI, "second"}: true}, c.toolless)

	// There is no pod.
	n.cannotRead(t.Context(), withoutPod("n1"))
	_, _, _, err = s.state("c/n1")
	requireUnread(gpu.FailureContainerMissing, err, s.unreadOf("c/n1"))

	pods.boxes["n1"] = (&exectest.Machine{UUID: "GPU-1"}).Box()
	read(planOf(c, "n1", "third"))
	_, _, node, err = s.state("c/n1")
	require.NoError(t, err)
	assert.Nil(t, node.Failure)
	c.noteTool(instance{ToolNvidiaSMI, "second"}, false)
	assert.Empty(t, c.toolless)
}

// The younger of two driver pods on a node lacks the tool: the other one is read.
func TestPodWithoutTool(t *testing.T) {
	s := exectest.NewServer(t)
	older, _ := s.Add("n1", &exectest.Machine{UUID: "GPU-1"})
	younger := older.DeepCopy()
	younger.Name, younger.CreationTimestamp = "younger", metav1.NewTime(older.CreationTimestamp.Add(time.Hour))
	younger.Status.ContainerStatuses[0].ContainerID = "containerd://younger"
	s.Set(func() {
		s.Boxes["younger"] = exectest.Commands(func([]string, io.Writer, io.Writer, <-chan struct{}) int { return 127 })
	})
	s.Put(younger)
	f, got, _ := start(t, configOf(clusterOf(s, "prod")))
	readTimes(t, got, "prod/n1", 2)
	assert.True(t, f.Stats()[0].Nodes[0].Success)
	assert.Equal(t, 1, f.Stats()[0].Nodes[0].GPUs)
	s.Remove(younger)
	eventually(t, func() bool {
		c := f.clusters[0]
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.toolless) == 0
	}, "a pod that is gone is remembered")
}
