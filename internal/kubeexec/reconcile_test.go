// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
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

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard/shardtest"
)

// The pods of one target are listed late: those of the other are read, and nothing that may still arrive is reported as missing.
func TestFleetListsCome(t *testing.T) {
	s := exectest.NewServer(t)
	held := make(chan struct{})
	s.Held = map[string]chan struct{}{"/api/v1/namespaces/amd/pods": held}
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
	close(held)
	eventually(t, func() bool {
		_, _, _, err := got.of("prod/n2")
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
func TestElectionTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, machines, _, _ := bare(1, 0)
		r := collect(t, shardtest.New(), machines, 1)
		clients, err := kube.NewClients(&rest.Config{Host: "https://127.0.0.1:1"})
		require.NoError(t, err)
		r.nodes, err = newNodes(clients.Kubernetes, &Config{})
		require.NoError(t, err)
		r.leases.Set(shardtest.Trouble{Fail: apierrors.NewForbidden(shardtest.Leases, "", nil)})
		time.Sleep(2 * shard.RetryPeriod)
		problems := r.currentProblems(&state{}, false)
		require.Len(t, problems, 1)
		assert.Equal(t, "leader election", problems[0].What)
		require.ErrorContains(t, problems[0].Err, "kubernetes_exec: cluster c: ")
		require.ErrorContains(t, problems[0].Err, "grant list, create, update and delete on leases")
		r.cancel()
		<-r.ended
	})
}

// A node with GPUs of two vendors is backed off when neither can be read.
func TestFailuresOfTwoVendors(t *testing.T) {
	c, _, _, _ := bare(1, 0)
	p := planOf(c, "n1", "first")
	p.jobs = append(p.jobs, job{target: &TargetConfig{Tool: ToolAMDSMI}})
	n := newNode(c, "n1", p)
	for _, tt := range []struct{ nvidia, amd, want int }{{0, 0, 0}, {3, 0, 0}, {0, 3, 0}, {3, 5, 3}, {5, 3, 3}} {
		n.stats = map[gpu.Vendor]*NodeStats{gpu.NVIDIA: {Failures: tt.nvidia}, gpu.AMD: {Failures: tt.amd}}
		assert.Equal(t, tt.want, n.failures(), "%+v", tt)
	}
	n.stats = map[gpu.Vendor]*NodeStats{gpu.NVIDIA: {Failures: 4}}
	assert.Zero(t, n.failures(), "the other was not read yet")
	n.plan = &plan{}
	assert.Zero(t, n.failures())
}
