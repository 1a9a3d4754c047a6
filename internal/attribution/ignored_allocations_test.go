// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// What is ignored is logged once for each resource, with the number of allocations.
func TestIgnoredIsLoggedOnce(t *testing.T) {
	m := newMachine(t, noAPI)
	logs := m.observe()
	m.start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, "rdma/hca", "0", "1", "2")))
	for range 3 {
		require.Empty(t, m.apply(nodeOf(device(0)), 10).Problems)
	}
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, "rdma/hca", "0", "1", "2", "3")),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, "vpc.amazonaws.com/efa", "rdmap16s27")))
	m.apply(nodeOf(device(0)), 10)
	all := logs.All()
	require.Len(t, all, 2)
	assert.Equal(t, "Allocations that do not count as GPUs: rdma/hca", all[0].Message)
	assert.EqualValues(t, 3, all[0].ContextMap()["allocations"])
	assert.Equal(t, "rdma/hca device 0", all[0].ContextMap()["first_allocation"])
	assert.Contains(t, all[0].ContextMap()["remedy"], "attribution::pod_resources::gpu_resources")
	assert.Equal(t, "Allocations that do not count as GPUs: vpc.amazonaws.com/efa", all[1].Message)
}

// However many resources there are, the log has a bound.
func TestIgnoredIsBounded(t *testing.T) {
	m := newMachine(t, noAPI)
	logs := m.observe()
	m.start()
	for range 3 {
		for n := range maxIgnored {
			m.attributor.allocations.ignored.add(&podresources.Allocation{Resource: fmt.Sprint("example.com/", n), ID: "x"})
		}
		m.attributor.allocations.ignored.add(&podresources.Allocation{Resource: "example.com/one-more", ID: "x"})
		m.attributor.allocations.ignored.log()
	}
	assert.Equal(t, maxIgnored, logs.Len())
}

// strangers returns allocations of devices that no source reads: interfaces, accelerators, GPUs that are passed through, and other vendors'.
func strangers(r *rand.Rand) []podresources.Allocation {
	var all []podresources.Allocation
	for range r.IntN(6) {
		c := container(r.IntN(6)) // some have GPUs, too
		a := podresources.Allocation{Namespace: "ml", Pod: c.pod, Container: c.name}
		number := strconv.Itoa(r.IntN(64))
		switch r.IntN(9) {
		case 0:
			a.Resource, a.ID = "rdma/hca", number
		case 1:
			a.Resource, a.ID = "vpc.amazonaws.com/efa", "rdmap"+number+"s27"
		case 2:
			a.Resource, a.ID = "devices.kubevirt.io/kvm", "kvm"+number
		case 3:
			a.Resource, a.ID = "nvidia.com/hostdev", "0000:51:00."+strconv.Itoa(r.IntN(8))
		case 4:
			a.Resource, a.ID = "nvidia.com/GA102GL_A10", "0000:22:00.0"
		case 5:
			a.Resource, a.ID = "nvidia.com/GA102GL_A10", "44"
		case 6:
			a.Resource, a.ID = "example.com/gpu", "0000:00:02.0"
		case 7:
			a.Resource, a.ID = "amd.com/gpu", "0000:1b:00.0"
		case 8:
			a.Dynamic = &podresources.Dynamic{ClaimNamespace: "ml", Claim: "c" + number, Driver: "dra.net", Pool: "n1", Device: "eth" + number}
		}
		all = append(all, a)
	}
	return all
}

// An ignored allocation changes nothing, whatever else is allocated, found or not.
func TestIgnoredChangesNothing(t *testing.T) {
	m := &machine{t: t, sys: t.TempDir()}
	m.virtualized()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, seed)
		w.a.allocations = worldAllocations(t, m.sys, w.kubelet)
		alone, err := New(w.config, interval)
		require.NoError(t, err)
		kubelet := &fixed{}
		alone.allocations = worldAllocations(t, m.sys, kubelet)
		alone.containers.logs = w.a.containers.logs
		for range 5 {
			node := w.read()
			if r.IntN(3) == 0 {
				w.kubelet.list = append(w.kubelet.list, podresources.Allocation{
					Namespace: "ml", Pod: "doubt", Container: "c", Resource: resource, ID: []string{"weird", uuid(9), "nvidia1/x"}[r.IntN(3)],
				})
			}
			kubelet.list = append([]podresources.Allocation(nil), w.kubelet.list...)
			for _, a := range strangers(r) {
				index := r.IntN(len(w.kubelet.list) + 1)
				w.kubelet.list = append(w.kubelet.list[:index:index], append([]podresources.Allocation{a}, w.kubelet.list[index:]...)...)
			}
			other := *node
			other.Devices = append([]gpu.Device(nil), node.Devices...)
			other.Processes = append([]gpu.Process(nil), node.Processes...)
			w.a.Describe(t.Context(), node)
			alone.Describe(t.Context(), &other)
			require.Equal(t, other.Devices, node.Devices, "seed %d", seed)
			require.Equal(t, other.Containers, node.Containers, "seed %d", seed)
			require.Equal(t, other.Problems, node.Problems, "seed %d", seed)
		}
	}
}

func worldAllocations(t *testing.T, sys string, kubelet lister) *allocations {
	t.Helper()
	a, err := newAllocations(&PodResourcesConfig{Endpoint: podresources.DefaultEndpoint}, &options{sys: sys, logger: zap.NewNop()}, partsConfig{})
	require.NoError(t, err)
	a.kubelet.client = kubelet
	return a
}
