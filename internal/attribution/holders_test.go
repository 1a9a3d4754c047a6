// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// amdGPU returns a GPU in CPX mode with two partitions.
func amdGPU() []gpu.Device {
	return []gpu.Device{
		{ID: "0123456789abcdef", Name: "card1", Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: "0000:1b:00.0"}},
		{ID: "0123456789abcdef/0", Partition: gpu.Some(0), Name: "card1", Vendor: gpu.AMD, Parent: "0123456789abcdef", Info: gpu.Info{PCIAddress: "0000:1b:00.0"}, Aliases: []string{"renderD128"}},
		{ID: "0123456789abcdef/1", Partition: gpu.Some(1), Name: "card2", Vendor: gpu.AMD, Parent: "0123456789abcdef", Info: gpu.Info{PCIAddress: "0000:1b:00.0"}, Aliases: []string{"renderD129", "amdgpu_xcp_1"}},
	}
}

// unnamedMIG returns a GPU with instances whose UUIDs the source does not know.
func unnamedMIG() []gpu.Device {
	return []gpu.Device{
		device(0),
		{ID: uuid(0) + "/1/0", Vendor: gpu.NVIDIA, Parent: uuid(0)},
		{ID: uuid(0) + "/2/0", Vendor: gpu.NVIDIA, Parent: uuid(0)},
	}
}

// All forms of device IDs.
func TestDialects(t *testing.T) {
	whole := []gpu.Device{device(0), device(1)}
	split := []gpu.Device{device(0), mig(0, 1), mig(0, 2), device(1)}
	amd := []gpu.Device{{ID: "0123456789abcdef", Name: "card1", Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: "0000:1b:00.0"}}}
	const gke = gpu.SharingReplicas
	const jetson = "54d69484-da94-4413-ba60-17df9cf43bed"
	tests := []struct {
		name         string
		devices      []gpu.Device
		resource, id string
		want         []string
		sharing      gpu.Sharing
	}{
		{"GPU", whole, resource, uuid(1), []string{uuid(1)}, gpu.SharingExclusive},
		{"GPU in capitals", whole, resource, "GPU-00000000-0000-0000-0000-000000000001", []string{uuid(1)}, gpu.SharingExclusive},
		{"GPU by another's resource", whole, "example.com/accelerator", uuid(1), []string{uuid(1)}, gpu.SharingExclusive},
		{"replica", whole, "nvidia.com/gpu.shared", uuid(1) + "::7", []string{uuid(1)}, gpu.SharingReplicas},
		{"MIG", split, "nvidia.com/mig-1g.10gb", migUUID(2), []string{migUUID(2)}, gpu.SharingExclusive},
		{"MIG, strategy single", split, resource, migUUID(1), []string{migUUID(1)}, gpu.SharingExclusive},
		{"MIG replica", split, resource, migUUID(1) + "::0", []string{migUUID(1)}, gpu.SharingReplicas},
		{"MIG of an old driver", split, resource, "MIG-" + uuid(0) + "/2/0", []string{migUUID(2)}, gpu.SharingExclusive},
		{"MIG of an old driver, unnamed", unnamedMIG(), resource, "MIG-" + uuid(0) + "/2/0", []string{uuid(0) + "/2/0"}, gpu.SharingExclusive},
		{"GPU with instances", split, resource, uuid(0), []string{migUUID(1), migUUID(2)}, gpu.SharingExclusive},
		{"GKE", whole, resource, "nvidia1", []string{uuid(1)}, gpu.SharingExclusive},
		{"GKE MIG", split, resource, "nvidia0/gi2", []string{migUUID(2)}, gpu.SharingExclusive},
		{"GKE MIG, unnamed", unnamedMIG(), resource, "nvidia0/gi2", []string{uuid(0) + "/2/0"}, gpu.SharingExclusive},
		{"GKE MIG shared", split, resource, "nvidia0/gi2/vgpu3", []string{migUUID(2)}, gke},
		{"GKE shared", whole, resource, "nvidia1/vgpu0", []string{uuid(1)}, gke},
		{"Jetson", []gpu.Device{{ID: jetson, Name: "nvidia0", Vendor: gpu.NVIDIA}}, resource, "tegra", []string{jetson}, gpu.SharingExclusive},
		{"index", whole, resource, "1", []string{uuid(1)}, gpu.SharingExclusive},
		{"PCI address", whole, "nvidia.com/pgpu", "00000000:11:00.0", []string{uuid(1)}, gpu.SharingExclusive},
		{"AMD", amd, "amd.com/gpu", "0000:1b:00.0", []string{"0123456789abcdef"}, gpu.SharingExclusive},
		{"AMD in capitals", amd, "amd.com/gpu", "0000:1B:00.0", []string{"0123456789abcdef"}, gpu.SharingExclusive},
		{"AMD replica", amd, "amd.com/gpu", "0000:1b:00.0-slice-2", []string{"0123456789abcdef"}, gpu.SharingTimeSlicing},
		{"AMD first partition", amdGPU(), "amd.com/cpx_nps4", "0000:1b:00.0", []string{"0123456789abcdef/0"}, gpu.SharingExclusive},
		{"AMD further partition", amdGPU(), "amd.com/cpx_nps4", "amdgpu_xcp_1", []string{"0123456789abcdef/1"}, gpu.SharingExclusive},
		{"AMD partition replica", amdGPU(), "amd.com/gpu", "amdgpu_xcp_1-slice-0", []string{"0123456789abcdef/1"}, gpu.SharingTimeSlicing},

		{"index of something else", whole, "rdma/hca", "1", nil, 0},
		{"another vendor's", whole, "amd.com/gpu", "0000:11:00.0", nil, 0},
		{"interface at no GPU", whole, "nvidia.com/hostdev", "0000:99:00.0", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, nil, podOf(train)).start()
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, tt.resource, tt.id)))
			node := m.apply(nodeOf(append([]gpu.Device(nil), tt.devices...)...))
			require.Empty(t, node.Problems)
			var holders []string
			for _, u := range node.Containers {
				holders = append(holders, u.DeviceID)
				assert.Equal(t, tt.sharing, u.Sharing)
				assert.Equal(t, tt.resource, u.Resource)
			}
			assert.Equal(t, tt.want, holders)
			for _, d := range node.Devices {
				assert.True(t, d.HoldersKnown)
			}
		})
	}
}

// A GPU is held by those who hold its partitions; Node.Containers has only the partitions.
func TestParentIsHeld(t *testing.T) {
	m := newMachine(t, nil, podOf(train, helper), podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod,
			kubelettest.Container(train.name, "nvidia.com/mig-1g.10gb", migUUID(1), migUUID(2)),
			kubelettest.Container(helper.name, "nvidia.com/mig-1g.10gb", migUUID(2))))
	node := nodeOf(device(0), mig(0, 1), mig(0, 2), device(1), mig(1, 1))
	run(node, 10, migUUID(1), train, 1e9, -1)
	m.apply(node)
	assert.Len(t, node.Devices[0].Holders, 2)
	assert.True(t, node.Devices[0].HoldersKnown)
	assert.Empty(t, node.Devices[3].Holders)
	assert.True(t, node.Devices[3].HoldersKnown)

	u := use(t, node, train.joined(), migUUID(1))
	assert.Equal(t, gpu.Some(int64(4e9)), u.MemoryUsage, "the instance's reading")
	assert.False(t, general(u).Known())
	assert.False(t, u.Power.Known(), "power is the GPU's")
	assert.False(t, u.Energy.Known())
	assert.False(t, u.IdleTime.Known(), "it runs, and how much is not known")
	u = use(t, node, train.joined(), migUUID(2))
	assert.Equal(t, gpu.Some(int64(0)), u.MemoryUsage)
	assertTotal(t, 0, u.IdleTime)
	for _, u := range node.Containers {
		assert.NotEqual(t, uuid(0), u.DeviceID)
	}
}

func TestSharing(t *testing.T) {
	m := newMachine(t, nil, podOf(train), podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, uuid(0)+"::1")))
	sharing := func(types ...gpu.ProcessType) gpu.Sharing {
		node := nodeOf(device(0))
		for i, kind := range types {
			run(node, int64(i+1), uuid(0), train, 1, 0.1)
			node.Processes[i].Type = kind
		}
		m.apply(node, 10)
		require.Len(t, node.Containers, 2)
		assert.Equal(t, node.Containers[0].Sharing, node.Containers[1].Sharing)
		return node.Containers[0].Sharing
	}
	assert.Equal(t, gpu.SharingReplicas, sharing(), "the kubelet does not know")
	assert.Equal(t, gpu.SharingReplicas, sharing(gpu.ProcessUnknown))
	assert.Equal(t, gpu.SharingTimeSlicing, sharing(gpu.ProcessCompute))
	assert.Equal(t, gpu.SharingTimeSlicing, sharing(), "it stays after it was seen once")
	assert.Equal(t, gpu.SharingMPS, sharing(gpu.ProcessCompute, gpu.ProcessMPS))
	assert.Equal(t, gpu.SharingMPS, sharing(gpu.ProcessCompute))

	server := m.kubelet
	server.Set()
	m.apply(nodeOf(device(0)), 10)
	server.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")))
	assert.Equal(t, gpu.SharingReplicas, m.apply(nodeOf(device(0)), 10).Containers[0].Sharing, "for as long as replicas are held")

	node := nodeOf(device(0))
	run(node, 1, uuid(0), infer, 1, 0)
	node.Processes[0].Executable = "nvidia-cuda-mps-server"
	assert.Equal(t, gpu.SharingMPS, m.apply(node, 10).Containers[0].Sharing, "the server is there before its clients")
}

// An allocated device that is not among those that were read.
func TestUnresolved(t *testing.T) {
	tests := []struct {
		name         string
		resource, id string
		problem      string
		known        bool // what the other devices' holders are
	}{
		{"a lost GPU", resource, uuid(7), "is not one of the GPUs that were read", true},
		{"a lost GPU by its node", resource, "nvidia7", "is not one of the GPUs that were read", true},
		{"a form that is not known", resource, "weird-7", "does not identify one of the GPUs", false},
		{"a slot of a plugin that chooses the GPU itself", resource, uuid(1) + "-3", "does not identify one of the GPUs", false},
		{"such a slot by another's resource", "example.com/vgpu", uuid(0) + "-3", "does not identify one of the GPUs", false},
		{"a slot of a MIG instance", resource, migUUID(1) + "-0", "does not identify one of the GPUs", false},
		{"a lost MIG instance of an old driver", resource, "MIG-" + uuid(7) + "/1/0", "is not one of the GPUs that were read", true},
		{"GKE garbage", resource, "nvidia7/x", "does not identify one of the GPUs", false},
		{"not a GPU", "nvidia.com/hostdev", "weird-7", "", true},
		{"a lost GPU by another's resource", "example.com/gpu", uuid(7), "is not one of the GPUs that were read", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, nil, podOf(train), podOf(infer)).start()
			m.kubelet.Set(
				kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))),
				kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, tt.resource, tt.id)))
			node := m.apply(nodeOf(device(0), device(1)))
			if tt.problem == "" {
				require.Empty(t, node.Problems)
			} else {
				require.Len(t, node.Problems, 1)
				require.ErrorContains(t, node.Problems[0].Err, tt.resource+" device "+tt.id)
				require.ErrorContains(t, node.Problems[0].Err, tt.problem)
			}
			assert.True(t, node.Devices[0].HoldersKnown)
			assert.Equal(t, tt.known, node.Devices[1].HoldersKnown)
			alone := use(t, node, train.joined(), uuid(0))
			assert.Equal(t, tt.known, alone.MemoryLimit.Known(), "it may have the first GPU, too")
			if tt.known {
				inDelta(t, 0.8, general(alone))
			} else {
				inDelta(t, 0, general(alone))
			}
		})
	}
	t.Run("MIG instances without UUIDs", func(t *testing.T) {
		m := newMachine(t, nil, podOf(train)).start()
		m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, migUUID(1))))
		node := m.apply(nodeOf(unnamedMIG()...))
		require.Len(t, node.Problems, 1)
		assert.False(t, node.Devices[1].HoldersKnown)
	})
}

// An allocation that was not found may be of a GPU whose names are not all known. The other GPUs are unaffected.
func TestUnnamed(t *testing.T) {
	lost := gpu.Device{ID: "n1/0000:12:00.0", Vendor: gpu.NVIDIA, Info: gpu.Info{PCIAddress: "0000:12:00.0"}}
	noNode, noUUID := device(2), mig(2, 1)
	noNode.Name, noUUID.ID = "", uuid(2)+"/1/0"
	for name, tt := range map[string]struct {
		devices []gpu.Device
		id      string
	}{
		"lost before it was ever read":  {[]gpu.Device{lost}, uuid(2)},
		"node":                          {[]gpu.Device{noNode}, "nvidia2"},
		"UUID of a MIG instance":        {[]gpu.Device{device(2), noUUID}, migUUID(21)},
		"node of a MIG instance's GPU":  {[]gpu.Device{noNode, mig(2, 1)}, "nvidia2/gi1"},
		"number of a MIG instance":      {[]gpu.Device{device(2), {ID: migUUID(21), Parent: uuid(2), Vendor: gpu.NVIDIA}}, "nvidia2/gi1"},
		"replica, and the node unknown": {[]gpu.Device{noNode}, "nvidia2/vgpu1"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, podOf(train), podOf(infer)).start()
			m.kubelet.Set(
				kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))),
				kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, tt.id)))
			node := m.apply(nodeOf(append([]gpu.Device{device(0), device(1)}, tt.devices...)...))
			require.Len(t, node.Problems, 1)
			require.ErrorContains(t, node.Problems[0].Err, "device "+tt.id+" does not identify one of the GPUs")
			assert.True(t, node.Devices[1].HoldersKnown, "no container has it")
			for i := range tt.devices {
				assert.False(t, node.Devices[2+i].HoldersKnown, "it may be allocated")
			}
			u := use(t, node, train.joined(), uuid(0))
			inDelta(t, 0.8, general(u))
			assert.True(t, u.MemoryLimit.Known())
		})
	}
}

// A plugin names its slots by UUIDs and allocates other GPUs: usage is reported, and no GPU counts as unallocated.
func TestExtendedID(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(1)+"-3")))
	node := nodeOf(device(0), device(1))
	run(node, 10, uuid(0), train, 4e9, 0.3)
	m.apply(node)
	require.Len(t, node.Containers, 1)
	u := use(t, node, train.joined(), uuid(0))
	assert.False(t, u.Allocated.Known())
	inDelta(t, 0.3, general(u))
	for i := range node.Devices {
		assert.False(t, node.Devices[i].HoldersKnown)
		assert.Empty(t, node.Devices[i].Holders)
	}
}
