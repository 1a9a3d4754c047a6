// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard/shardtest"
)

// The pods of one target are listed late: the pods of the other are read, and a pod that may still arrive is not reported as missing.
func TestFleetListsCome(t *testing.T) {
	s := exectest.NewServer(t)
	block := make(chan struct{})
	s.Held = map[string]chan struct{}{"/api/v1/namespaces/amd/pods": block}
	s.Add("n1", &exectest.Machine{})
	_, other := exectest.Driver("n2")
	other.Status.Capacity = corev1.ResourceList{"amd.com/gpu": resource.MustParse("8")}
	s.Put(other)
	config := configOf(clusterOf(s, "prod"))
	config.Targets = []TargetConfig{{LabelSelector: classicDriver}, {Namespace: "amd", LabelSelector: "app=amd", Container: "tool", Tool: ToolAMDSMI}}
	config.AttributePods = false
	_, got, problems := start(t, config)
	readTimes(t, got, "prod/n1", 2)
	assert.Empty(t, problems.lines("prod"))
	close(block)
	eventually(t, func() bool {
		_, _, _, err := got.state("prod/n2")
		return err != nil && strings.Contains(err.Error(), "node n2: AMD: no target selects a pod on it") &&
			strings.Contains(problems.lines("prod"), "no pod with app=amd in namespace amd")
	}, "not reported")
}

// The label of a node changes.
func TestFleetNodeChanges(t *testing.T) {
	s := exectest.NewServer(t)
	_, node := s.Add("n1", &exectest.Machine{})
	config := configOf(clusterOf(s, "prod"))
	config.NodeLabels = []string{"zone"}
	config.AttributePods = false
	_, got, _ := startEvery(t, config, time.Second)
	eventually(t, func() bool { // the list of nodes may arrive a little later
		return readTimes(t, got, "prod/n1", 1).Host.Labels["k8s.node.label.zone"] == "a"
	}, "no label")
	node.Labels["zone"] = "b"
	s.Put(node)
	eventually(t, func() bool {
		return readTimes(t, got, "prod/n1", 1).Host.Labels["k8s.node.label.zone"] == "b"
	}, "the former label")
}

// Leases that may not be written are reported: without them nothing is read.
func TestElectionNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, machines, _, _ := bare(1, 0)
		r := collect(t, shardtest.New(), machines, 1)
		clients, err := kube.NewClients(&rest.Config{Host: "https://127.0.0.1:1"})
		require.NoError(t, err)
		r.nodes, err = newNodes(clients.Kubernetes, &Config{})
		require.NoError(t, err)
		r.leases.Set(shardtest.Trouble{Fail: apierrors.NewForbidden(shardtest.Leases, "", nil)})
		time.Sleep(2 * shard.RetryPeriod)
		problems := r.currentProblems(&clusterSnapshot{}, false)
		require.Len(t, problems, 1)
		assert.Equal(t, "leader election", problems[0].What)
		require.ErrorContains(t, problems[0].Err, "kubernetes_exec: cluster c: ")
		require.ErrorContains(t, problems[0].Err, "grant list, create, update and delete on leases")
		r.cancel()
		<-r.ended
	})
}

// Nodes come and go: no state of removed nodes remains.
func TestNodesComeAndGo(t *testing.T) {
	const nodes, times = 50, 40
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, _, s, _ := bare(16, 0)
		for i := range times {
			plans := map[string]*plan{}
			for j := range nodes {
				name := fmt.Sprintf("node-%d-%d", i, j)
				plans[name] = planOf(c, name, "first")
			}
			plans[fmt.Sprintf("unread-%d", i)] = withoutPod(fmt.Sprintf("unread-%d", i))
			c.follow(ctx, plans)
			time.Sleep(interval + time.Second)
			synctest.Wait()
			assert.Len(t, running(c), nodes+1)
			assert.Len(t, c.stats().Nodes, nodes+1)
		}
		c.follow(ctx, nil)
		synctest.Wait()
		assert.Empty(t, running(c))
		assert.Empty(t, c.stats().Nodes)
		assert.Len(t, s.left(), (nodes+1)*times, "each once")
		assert.Empty(t, c.tokens)
		c.reading.Wait()
		cancel()
	})
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, machines, s, plans := bare(4, 2)
		c.follow(ctx, plans)
		time.Sleep(interval + time.Second)

		// The driver pod of a node restarts: the node is kept, but not read.
		c.follow(ctx, map[string]*plan{"node-0": withoutPod("node-0"), "node-1": plans["node-1"]})
		before := len(machines.times("node-0"))
		time.Sleep(3 * interval)
		assert.Len(t, machines.times("node-0"), before)
		earlier := running(c)["node-0"]
		require.NotNil(t, earlier)
		assert.Equal(t, errNoPod.Error(), c.stats().Nodes[0].Unreadable)
		assert.Len(t, c.stats().Nodes, 2)
		plans["node-0"] = planOf(c, "node-0", "second")
		c.follow(ctx, plans)
		time.Sleep(interval + time.Second)
		assert.Greater(t, len(machines.times("node-0")), before)
		assert.Same(t, earlier, running(c)["node-0"])
		assert.Empty(t, s.left())

		// A node is removed in the middle of a read: the result is discarded, and the removal is reported.
		machines.set(func() { machines.takes = 5 * time.Second })
		for machines.now() == 0 {
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		first, _, _, _ := s.state("c/node-0")
		second, _, _, _ := s.state("c/node-1")
		c.follow(ctx, nil)
		synctest.Wait()
		again, _, _, _ := s.state("c/node-0")
		assert.Equal(t, first, again)
		again, _, _, _ = s.state("c/node-1")
		assert.Equal(t, second, again)
		assert.ElementsMatch(t, []string{"c/node-0", "c/node-1"}, s.left())
		assert.Empty(t, running(c))
		assert.Len(t, c.dirty, 1, "it may have come back")

		c.follow(ctx, plans)
		c.follow(ctx, nil)
		c.follow(ctx, plans)
		assert.Len(t, running(c), 2, "one that ends is not started again")
		synctest.Wait()
		assert.Empty(t, running(c))
		cancel()
		c.reading.Wait()
	})
}
