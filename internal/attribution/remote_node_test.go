// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// remote returns an Attributor of a node that is read without an agent, with the view of a cluster.
func remote(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, nil, podOf(train, helper), podOf(infer))
	view, err := kube.NewView(m.clients, kube.ViewOptions{})
	require.NoError(t, err)
	view.Start()
	t.Cleanup(view.Stop)
	require.True(t, view.WaitSynced(t.Context()))
	m.attributor = NewRemote(view, interval)
	t.Cleanup(m.stop)
	return m
}

// The view is the cluster's. It remains after the Attributor of a node was closed.
func TestRemoteLeavesTheView(t *testing.T) {
	m := remote(t)
	view := m.attributor.view
	m.stop()
	later := testContainer{pod: "later-0", name: "main"}
	_, err := m.client.CoreV1().Pods("ml").Create(t.Context(), podOf(later), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return view.Pods.ByUID(later.uid()) != nil }, time.Minute, time.Millisecond)
}

// The usage of containers follows from their processes. Allocations are unknown without an agent.
func TestRemote(t *testing.T) {
	m := remote(t)
	read := func(joules float64) *gpu.Node {
		d := device(0)
		d.Energy = gpu.Total(joules)
		node := nodeOf(d, device(1))
		run(node, 10, uuid(0), train, 6e9, 0.5)
		run(node, 11, uuid(0), train, 1e9, 0.1)
		run(node, 12, uuid(0), infer, 2e9, 0.2)
		return m.apply(node, 10)
	}
	read(1000)
	node := read(2000)
	require.Empty(t, node.Problems)
	require.Len(t, node.Containers, 2)
	u := use(t, node, train.joined(), uuid(0))
	assert.False(t, u.Allocated.Known())
	inDelta(t, 0.6, general(u))
	assert.Equal(t, gpu.Some(int64(7e9)), u.MemoryUsage)
	assert.False(t, u.MemoryLimit.Known())
	inDelta(t, 0.6*400, u.Power)
	assertTotal(t, 600, u.Energy)
	_, idle := u.IdleTime.Get()
	assert.False(t, idle)
	inDelta(t, 0.2, general(use(t, node, infer.joined(), uuid(0))))
	for _, d := range node.Devices {
		assert.False(t, d.HoldersKnown, "not known to be free")
		assert.Empty(t, d.Holders)
	}
}

// A process that has not been looked up yet may belong to any container; one that was looked up and is gone belongs to no container.
func TestRemoteUnread(t *testing.T) {
	m := remote(t)
	node := nodeOf(device(0), device(1))
	run(node, 10, uuid(0), train, 6e9, 0.5)
	node.Processes = append(node.Processes, gpu.Process{PID: 11, DeviceID: uuid(0), Memory: gpu.Some(int64(1e9)), Unread: true})
	run(node, 12, uuid(1), infer, 2e9, 0.2)
	node.Processes = append(node.Processes, gpu.Process{PID: 13, DeviceID: uuid(1), Memory: gpu.Some(int64(1e9))})
	m.apply(node)
	u := use(t, node, train.joined(), uuid(0))
	assert.False(t, general(u).Known())
	assert.False(t, u.MemoryUsage.Known(), "the other process may be its own")
	u = use(t, node, infer.joined(), uuid(1))
	inDelta(t, 0.2, general(u))
	assert.Equal(t, gpu.Some(int64(2e9)), u.MemoryUsage)
}

// Without the API a container has its ID and the UID of its pod.
func TestRemoteWithoutView(t *testing.T) {
	a := NewRemote(nil, interval)
	require.NoError(t, a.Start(t.Context()))
	node := nodeOf(device(0))
	node.Time = time.Unix(1_700_000_000, 0)
	run(node, 10, uuid(0), train, 6e9, 0.5)
	a.Describe(t.Context(), node)
	inDelta(t, 0.5, general(use(t, node, train.used(), uuid(0))))
	require.NoError(t, a.Close())
}

// A configuration can be checked outside of a cluster: credentials are read at the start.
func TestCredentialsAtStart(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	owners := DefaultOwners()
	a, err := New(Config{NodeName: "n1", Owners: &owners}, interval)
	require.NoError(t, err)
	require.ErrorContains(t, a.Start(t.Context()), "attribution::owners: kube: auth_type serviceAccount: KUBERNETES_SERVICE_HOST")
	require.NoError(t, a.Close())
}

// A node may claim that a process runs in any pod of the cluster. It is trusted with its own pods only.
func TestRemoteTellsOfItsOwnPodsAlone(t *testing.T) {
	m := remote(t)
	claim := func(name string) *gpu.Node {
		node := nodeOf(device(0))
		node.Host.NodeName = name
		run(node, 10, uuid(0), train, 6e9, 0.5)
		return m.apply(node)
	}
	node := claim("n1")
	require.Len(t, node.Containers, 1)
	assert.Equal(t, train.joined(), node.Containers[0].Container)
	node = claim("n2")
	assert.Empty(t, node.Containers)
	assert.Nil(t, node.Processes[0].Container)
	node = claim("n1")
	require.Len(t, node.Containers, 1, "and the true one is not forgotten over it")
}
