// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The last allocations count for a while after the kubelet was stopped, because nothing is allocated without it.
func TestKubeletRestart(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	read := func() *gpu.Node { return m.apply(nodeOf(device(0)), 10) }
	require.Empty(t, read().Problems)

	m.kubelet.Stop()
	node := read()
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "pod resources", node.Problems[0].What)
	require.ErrorIs(t, node.Problems[0].Err, syscall.ENOENT)
	u := use(t, node, train.joined(), uuid(0))
	assert.Equal(t, gpu.Some(true), u.Allocated)
	assertTotal(t, 10*(1-0.8), u.IdleTime)

	m.kubelet.Start()
	node = read()
	require.Empty(t, node.Problems)
	assertTotal(t, 20*(1-0.8), use(t, node, train.joined(), uuid(0)).IdleTime)

	m.kubelet.Stop()
	m.now = m.now.Add(keepAllocations)
	node = read()
	assert.False(t, node.Devices[0].HoldersKnown, "too long ago")
	assert.Empty(t, node.Devices[0].Holders)
	assert.Empty(t, node.Containers)
}

// A restarted kubelet answers before it knows its pods again, and before it knows their devices.
func TestKubeletRestartForgets(t *testing.T) {
	m := newMachine(t, nil, podOf(train), podOf(infer)).start()
	bare := func(pod string) *podresourcesv1.PodResources { return kubelettest.Pod(pod) }
	podResources := func(w testContainer, n int) *podresourcesv1.PodResources {
		return kubelettest.Pod(w.pod, kubelettest.Container(w.name, resource, uuid(n)))
	}
	restart := func(pods ...*podresourcesv1.PodResources) {
		m.kubelet.Stop()
		m.kubelet.Set(pods...)
		m.kubelet.Start()
	}
	holders := func(seconds float64) map[string]string {
		node := m.apply(nodeOf(device(0), device(1)), seconds)
		require.Empty(t, node.Problems)
		got := map[string]string{}
		for i := range node.Devices {
			require.True(t, node.Devices[i].HoldersKnown)
			for _, h := range node.Devices[i].Holders {
				got[node.Devices[i].Name] += h.Container.PodName
			}
		}
		return got
	}
	both := map[string]string{"nvidia0": train.pod, "nvidia1": infer.pod}
	m.kubelet.Set(podResources(train, 0), podResources(infer, 1))
	require.Equal(t, both, holders(1))

	restart()
	assert.Equal(t, both, holders(1), "no pods yet")
	assert.Equal(t, both, holders(60), "the API server is away")
	m.kubelet.Set(bare(train.pod), bare(infer.pod))
	restart(bare(train.pod), bare(infer.pod))
	assert.Equal(t, both, holders(1), "pods without devices yet")
	m.kubelet.Set(podResources(train, 0), bare(infer.pod))
	assert.Equal(t, both, holders(1), "some")
	m.kubelet.Set(podResources(train, 0), podResources(infer, 1))
	assert.Equal(t, both, holders(1), "all")
	m.kubelet.Set(podResources(train, 0))
	assert.Equal(t, map[string]string{"nvidia0": train.pod}, holders(1), "it knows all again")

	restart(podResources(infer, 0))
	assert.Equal(t, map[string]string{"nvidia0": infer.pod}, holders(1), "the device is another's now")
	restart(bare(infer.pod))
	assert.Equal(t, map[string]string{"nvidia0": infer.pod}, holders(1))
	assert.Empty(t, holders((restartTime + time.Second).Seconds()), "it had the time to know")
	m.kubelet.Set(podResources(train, 0))
	require.Len(t, holders(1), 1)
	restart()
	require.Len(t, holders(1), 1)
	assert.Empty(t, holders((keepAllocations + time.Second).Seconds()), "too long ago")
}

// The first answers of a kubelet that has just started may lack allocations, so devices that they lack do not count as free.
func TestNewKubelet(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	start := func(then time.Time, pods ...*podresourcesv1.PodResources) {
		m.kubelet.Stop()
		m.kubelet.Set(pods...)
		m.kubelet.StartAt(then)
	}
	known := func(seconds float64) [2]bool {
		node := m.apply(nodeOf(device(0), device(1)), seconds)
		require.Empty(t, node.Problems)
		allocated := node.Devices[0].HoldersKnown && len(node.Devices[0].Holders) == 1
		assert.Equal(t, node.Devices[0].HoldersKnown, allocated)
		return [2]bool{allocated, node.Devices[1].HoldersKnown}
	}
	pod := kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)))
	start(m.now.Add(-time.Second), kubelettest.Pod(train.pod))
	assert.Equal(t, [2]bool{}, known(0))
	m.kubelet.Set(pod)
	assert.Equal(t, [2]bool{true, false}, known(1))
	assert.Equal(t, [2]bool{true, true}, known((startTime - 2*time.Second).Seconds()))

	start(m.now)
	assert.Equal(t, [2]bool{true, true}, known(1), "the allocations from before are remembered")
	m.kubelet.Set(pod)
	known(1)
	m.kubelet.Stop()
	m.apply(nodeOf(device(0)), (keepAllocations + time.Second).Seconds())
	start(m.now, pod)
	assert.Equal(t, [2]bool{true, false}, known(0), "it was too long ago")

	m.stop()
	m.start()
	start(m.now.Add(2*time.Second), pod)
	assert.Equal(t, [2]bool{true, false}, known(0), "it started while the GPUs were read")

	m.stop()
	m.start()
	start(m.now.Add(time.Hour), pod)
	assert.Equal(t, [2]bool{true, true}, known(0), "the clock was set back")
}

func TestKubeletMissing(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Stop()
	node := nodeOf(device(0))
	run(node, 10, uuid(0), train, 4e9, 0.3)
	m.apply(node)
	require.Len(t, node.Problems, 1)
	require.ErrorContains(t, node.Problems[0].Err, "mount the kubelet's directory pod-resources")
	assert.False(t, node.Devices[0].HoldersKnown)
	u := use(t, node, train.joined(), uuid(0))
	assert.False(t, u.Allocated.Known())
	inDelta(t, 0.3, general(u))
}

// A restart of the collector loses only what it counted itself.
func TestCollectorRestart(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.apply(holdAndRun(m, train), 10)
	m.apply(holdAndRun(m, train), 10)
	m.stop()
	m.start()
	u := use(t, m.apply(holdAndRun(m, train), 10), train.joined(), uuid(0))
	assertTotal(t, 0, u.IdleTime)
	assert.Equal(t, m.now, u.IdleTime.Since(), "counting started again")
	assert.Equal(t, gpu.Some(true), u.Allocated)
}

// A slow kubelet costs the allocations, not the read.
func TestKubeletSlow(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Hang(true)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	node := nodeOf(device(0))
	m.attributor.Describe(ctx, node)
	require.Len(t, node.Problems, 1)
	assert.ErrorContains(t, node.Problems[0].Err, "did not answer in time")
}

// Close does not wait for a kubelet that hangs.
func TestCloseWhileAsking(t *testing.T) {
	m := newMachine(t, noAPI)
	m.kubelet.Hang(true)
	a, err := New(m.config, interval, WithWait(time.Minute))
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Describe(context.Background(), nodeOf(device(0)))
	}()
	require.Eventually(t, func() bool { return m.kubelet.Calls() == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, a.Close())
	<-done
}

// Nothing is requested on a machine without GPUs.
func TestNoDevices(t *testing.T) {
	m := newMachine(t, nil).start()
	node := m.apply(&gpu.Node{Vendor: gpu.NVIDIA})
	assert.Empty(t, node.Problems)
	assert.Zero(t, m.kubelet.Calls())
}

// Two vendors on one node, read at the same time, share one kubelet and one API server.
func TestTwoVendors(t *testing.T) {
	m := newMachine(t, nil, podOf(train), podOf(infer)).start()
	amd := gpu.Device{ID: "0123456789abcdef", Name: "card1", Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: "0000:1b:00.0"}}
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, "amd.com/gpu", "0000:1b:00.0"),
			kubelettest.Container("nic", "nvidia.com/hostdev", "0000:10:00.0x"),
			kubelettest.Container("rdma", "rdma/hca", "0", "1")))
	done := make(chan *gpu.Node)
	for _, d := range []gpu.Device{device(0), amd} {
		go func() {
			var node *gpu.Node
			for range 20 {
				node = nodeOf(d)
				node.Time = m.now
				m.attributor.Describe(context.Background(), node)
			}
			done <- node
		}()
	}
	for range 2 {
		node := <-done
		require.Empty(t, node.Problems)
		require.Len(t, node.Containers, 1)
		want := train
		if node.Vendor == gpu.AMD {
			want = infer
		}
		assert.Equal(t, want.joined(), node.Containers[0].Container)
	}
}

func TestNewFails(t *testing.T) {
	_, err := New(Config{PodResources: &PodResourcesConfig{Endpoint: "tcp://x"}}, interval)
	require.ErrorContains(t, err, "attribution: pod_resources: ")
}

// A restarted kubelet learns of plugins' devices and of dynamic ones at different times.
func TestSupersedes(t *testing.T) {
	plugin := podresources.Allocation{Namespace: "ml", Pod: "a", Resource: resource, ID: "0"}
	dynamic := podresources.Allocation{Namespace: "ml", Pod: "a", Dynamic: &podresources.Dynamic{Claim: "c"}}
	assert.True(t, supersedes(&plugin, &plugin))
	assert.True(t, supersedes(&dynamic, &dynamic))
	assert.False(t, supersedes(&dynamic, &plugin))
	assert.False(t, supersedes(&plugin, &dynamic))
	another := plugin
	another.Pod = "b"
	assert.True(t, supersedes(&another, &plugin), "the device")
	another.ID = "1"
	assert.False(t, supersedes(&another, &plugin))
}
