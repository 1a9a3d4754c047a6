// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// amdGPU is a GPU in CPX mode, of two partitions, and their package.
func amdGPU() []gpu.Device {
	return []gpu.Device{
		{ID: "0123456789abcdef", Name: "card1", Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: "0000:1b:00.0"}},
		{ID: "0123456789abcdef/0", Name: "card1", Vendor: gpu.AMD, Parent: "0123456789abcdef", Info: gpu.Info{PCIAddress: "0000:1b:00.0"}, Aliases: []string{"renderD128"}},
		{ID: "0123456789abcdef/1", Name: "card2", Vendor: gpu.AMD, Parent: "0123456789abcdef", Info: gpu.Info{PCIAddress: "0000:1b:00.0"}, Aliases: []string{"renderD129", "amdgpu_xcp_1"}},
	}
}

// unnamedMIG is a GPU of whose instances the source does not know the UUIDs.
func unnamedMIG() []gpu.Device {
	return []gpu.Device{
		device(0),
		{ID: uuid(0) + "/1/0", Vendor: gpu.NVIDIA, Parent: uuid(0)},
		{ID: uuid(0) + "/2/0", Vendor: gpu.NVIDIA, Parent: uuid(0)},
	}
}

// Every way in which a kubelet names a device.
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
			var held []string
			for _, u := range node.Containers {
				held = append(held, u.DeviceID)
				assert.Equal(t, tt.sharing, u.Sharing)
				assert.Equal(t, tt.resource, u.Resource)
			}
			assert.Equal(t, tt.want, held)
			for _, d := range node.Devices {
				assert.True(t, d.HoldersKnown)
			}
		})
	}
}

// A GPU is held when any of its partitions is; containers are told on the partitions alone.
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
	total(t, 0, u.IdleTime)
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
	assert.Equal(t, gpu.SharingReplicas, sharing(), "the kubelet does not tell")
	assert.Equal(t, gpu.SharingReplicas, sharing(gpu.ProcessUnknown))
	assert.Equal(t, gpu.SharingTimeSlicing, sharing(gpu.ProcessCompute))
	assert.Equal(t, gpu.SharingTimeSlicing, sharing(), "once seen, it holds")
	assert.Equal(t, gpu.SharingMPS, sharing(gpu.ProcessCompute, gpu.ProcessMPS))
	assert.Equal(t, gpu.SharingMPS, sharing(gpu.ProcessCompute))

	held := m.kubelet
	held.Set()
	m.apply(nodeOf(device(0)), 10)
	held.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")))
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
		{"a lost GPU", resource, uuid(7), "is none of the GPUs that were read", true},
		{"a lost GPU by its node", resource, "nvidia7", "is none of the GPUs that were read", true},
		{"a form that is not known", resource, "weird-7", "cannot be told to be one of the GPUs", false},
		{"a slot of a plugin that chooses the GPU itself", resource, uuid(1) + "-3", "cannot be told to be one of the GPUs", false},
		{"such a slot by another's resource", "example.com/vgpu", uuid(0) + "-3", "cannot be told to be one of the GPUs", false},
		{"a slot of a MIG instance", resource, migUUID(1) + "-0", "cannot be told to be one of the GPUs", false},
		{"a lost MIG instance of an old driver", resource, "MIG-" + uuid(7) + "/1/0", "is none of the GPUs that were read", true},
		{"GKE garbage", resource, "nvidia7/x", "cannot be told to be one of the GPUs", false},
		{"not a GPU", "nvidia.com/hostdev", "weird-7", "", true},
		{"another's lost GPU", "example.com/gpu", uuid(7), "", true},
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

// What one GPU is called is not all known, and an allocation is not found: it may be of that GPU, and takes nothing from what is
// told of the others.
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
			require.ErrorContains(t, node.Problems[0].Err, "device "+tt.id+" cannot be told to be one of the GPUs")
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

// A plugin that calls its slots by UUIDs and gives out other GPUs: who uses a GPU is told, and not that it is not allocated.
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

const claimSpec = `cdiVersion: 0.6.0
kind: k8s.%s/device
devices:
- name: gpu-0-mig-1g10gb-19-0
  containerEdits: {deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidia-caps/nvidia-cap12}]}
- name: gpu-1
  containerEdits: {deviceNodes: [{path: /dev/nvidia1}]}
- name: claim-gpu-2-129
  containerEdits: {deviceNodes: [{path: /dev/kfd}, {path: /dev/dri/card2}, {path: /dev/dri/renderD129}]}
`

// Devices allocated by dynamic resource allocation, told by each of the ways.
func TestDynamic(t *testing.T) {
	nvidia := []gpu.Device{device(0), mig(0, 1), mig(0, 2), device(1)}
	swapped := []gpu.Device{device(0), device(1)}
	swapped[0].Name, swapped[1].Name = "nvidia1", "nvidia0"
	tests := []struct {
		name           string
		devices        []gpu.Device
		driver, device string
		cdi            []string
		want           []string
		known          bool
	}{
		{"UUID in the CDI name", nvidia, driverNVIDIA, "gpu-x", []string{"nvidia.com/gpu=" + uuid(1)}, []string{uuid(1)}, true},
		{"CDI file, MIG", nvidia, driverNVIDIA, "gpu-0-mig-1g10gb-19-0", []string{"k8s.gpu.nvidia.com/device=gpu-0-mig-1g10gb-19-0"}, []string{migUUID(2)}, true},
		{"CDI file, GPU and claim", nvidia, driverNVIDIA, "gpu-1", []string{"k8s.gpu.nvidia.com/device=gpu-1", "k8s.gpu.nvidia.com/claim=c-gpu-1"}, []string{uuid(1)}, true},
		{"CDI file, AMD partition", amdGPU(), driverAMD, "gpu-2-129", []string{"k8s.gpu.amd.com/gpu=common", "k8s.gpu.amd.com/device=claim-gpu-2-129"}, []string{"0123456789abcdef/1"}, true},
		{"ResourceSlice, UUID", nvidia, driverNVIDIA, "gpu-slice", nil, []string{migUUID(1)}, true},
		{"ResourceSlice, PCI address", nvidia, driverNVIDIA, "gpu-pci", nil, []string{uuid(1)}, true},
		{"ResourceSlice, partition at its GPU's address", amdGPU(), driverAMD, "partition", nil, nil, false},
		{"name, NVIDIA", nvidia, driverNVIDIA, "gpu-1", nil, []string{uuid(1)}, true},
		{"name, AMD", amdGPU(), driverAMD, "gpu-2-129", nil, []string{"0123456789abcdef/1"}, true},
		{"name, index and node differ", swapped, driverNVIDIA, "gpu-1", nil, nil, false},
		{"MIG by name alone", nvidia, driverNVIDIA, "gpu-0-mig-19-4-1", nil, nil, false},
		{"a name of another form", nvidia, driverNVIDIA, "zero", nil, nil, false},
		{"AMD name of another form", amdGPU(), driverAMD, "gpu-2", nil, nil, false},
		{"another driver", nvidia, "dra.net", "gpu-1", nil, nil, true},
		{"another vendor", nvidia, driverAMD, "gpu-2-129", nil, nil, true},
		{"passed through", nvidia, driverNVIDIA, "gpu-vfio-0", nil, nil, true},
		{"no GPU driver of the vendor", nvidia, "compute-domain.nvidia.com", "channel-0", nil, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, nil, podOf(train))
			m.file(m.cdi, "nvidia.yaml", fmt.Sprintf(claimSpec, driverNVIDIA))
			m.file(m.cdi, "amd.yaml", fmt.Sprintf(claimSpec, driverAMD))
			m.file(m.minorsDir(), "mig-minors", "gpu0/gi2/access 11\ngpu0/gi2/ci0/access 12\n")
			m.clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{sliceResource: "ResourceSliceList"}, resourceSlice(driverNVIDIA), resourceSlice(driverAMD))
			m.serveSlices()
			m.start()
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Claimed(train.name, "claim", tt.driver, tt.device, tt.cdi...)))
			node := m.apply(nodeOf(append([]gpu.Device(nil), tt.devices...)...))
			var held []string
			for _, u := range node.Containers {
				held = append(held, u.DeviceID)
				assert.True(t, u.DRA)
				assert.Equal(t, tt.driver, u.Resource)
				assert.Equal(t, gpu.SharingExclusive, u.Sharing)
			}
			assert.Equal(t, tt.want, held)
			assert.Equal(t, tt.known, node.Devices[len(node.Devices)-1].HoldersKnown)
			if tt.known {
				require.Empty(t, node.Problems)
			} else {
				require.Len(t, node.Problems, 1)
				require.ErrorContains(t, node.Problems[0].Err, tt.driver+" device n1/"+tt.device)
			}
		})
	}
}

// A kubelet that starts deletes the ResourceSlices of its node, until the drivers publish them anew: what a claim was given
// stays known.
func TestDynamicSliceGone(t *testing.T) {
	m := newMachine(t, nil, podOf(train))
	slices := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{sliceResource: "ResourceSliceList"}, resourceSlice(driverNVIDIA))
	m.clients.Dynamic = slices
	m.serveSlices()
	m.start()
	claim := func(name string) {
		m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Claimed(train.name, name, driverNVIDIA, "gpu-pci")))
	}
	holders := func() int { return len(m.apply(nodeOf(device(0), device(1)), 10).Devices[1].Holders) }
	claim("first")
	require.Equal(t, 1, holders())

	name := resourceSlice(driverNVIDIA).GetName()
	require.NoError(t, slices.Resource(sliceResource).Delete(t.Context(), name, metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return m.attributor.view.Slices.Device(driverNVIDIA, "n1", "gpu-pci") == nil },
		10*time.Second, time.Millisecond)
	assert.Equal(t, 1, holders())
	claim("second")
	assert.Zero(t, holders(), "it may be another device by now")
	claim("first")
	assert.Zero(t, holders(), "it was given back in between")
}

// Device plugin and dynamic resource allocation side by side on one node; and one claim of several containers.
func TestPluginAndDynamic(t *testing.T) {
	m := newMachine(t, noAPI).start()
	both := kubelettest.Claimed(helper.name, "shared", driverNVIDIA, "gpu-1")
	both.Devices = []*podresourcesv1.ContainerDevices{{ResourceName: resource, DeviceIds: []string{uuid(0)}}}
	m.kubelet.Set(
		kubelettest.Pod(train.pod, both, kubelettest.Claimed(train.name, "shared", driverNVIDIA, "gpu-1")),
		kubelettest.Pod(infer.pod, kubelettest.Claimed(infer.name, "own", driverNVIDIA, "gpu-2")))
	node := m.apply(nodeOf(device(0), device(1), device(2)))
	require.Empty(t, node.Problems)
	require.Len(t, node.Containers, 4)
	u := use(t, node, helper.named(), uuid(0))
	assert.False(t, u.DRA)
	assert.Equal(t, gpu.SharingExclusive, u.Sharing)
	for _, c := range []who{helper, train} {
		u := use(t, node, c.named(), uuid(1))
		assert.True(t, u.DRA)
		assert.Equal(t, gpu.SharingClaim, u.Sharing)
	}
	u = use(t, node, infer.named(), uuid(2))
	assert.True(t, u.DRA)
	assert.Equal(t, gpu.SharingExclusive, u.Sharing)
}

// A CDI file that cannot be read is said, and does not keep the rest from being told.
func TestDynamicOddFile(t *testing.T) {
	m := newMachine(t, noAPI).start()
	m.file(m.cdi, "broken.json", "{")
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Claimed(train.name, "c", driverNVIDIA, "gpu-1")))
	node := m.apply(nodeOf(device(0), device(1)))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "CDI", node.Problems[0].What)
	use(t, node, train.named(), uuid(1))
}

// What of a published device tells which GPU it is.
func TestSliceKeys(t *testing.T) {
	const pci = "resource.kubernetes.io/pciBusID"
	for _, tt := range []struct {
		name       string
		attributes map[string]string
		want       []string
	}{
		{"a GPU's UUID", map[string]string{"uuid": "GPU-AB", pci: "0000:1b:00.0"}, []string{"gpu-ab"}},
		{"an instance's UUID", map[string]string{"uuid": "MIG-AB", "type": "mig", pci: "0000:1b:00.0"}, []string{"mig-ab"}},
		{"a UUID of another kind", map[string]string{"uuid": "ab", pci: "0000:1B:00.0"}, []string{"pci:0000:1b:00.0"}},
		{"the driver's own names", map[string]string{"pciBusID": "0000:1b:00.0", "type": "gpu"}, []string{"pci:0000:1b:00.0"}},
		{"the driver's own names, express", map[string]string{"pcieBusID": "0000:1b:00.0", "type": "amdgpu"}, []string{"pci:0000:1b:00.0"}},
		{"the driver's own names, short", map[string]string{"pciAddr": "0000:1b:00.0"}, []string{"pci:0000:1b:00.0"}},
		{"the standard name first", map[string]string{"pciAddr": "0000:1c:00.0", pci: "0000:1b:00.0"}, []string{"pci:0000:1b:00.0"}},
		{"no address", map[string]string{pci: "1b:00"}, nil},
		{"a partition", map[string]string{pci: "0000:1b:00.0", "type": "amdgpu-partition"}, nil},
		{"nothing", nil, nil},
	} {
		assert.Equal(t, tt.want, sliceKeys(tt.attributes), tt.name)
	}
}

// What the name of a device tells where nothing else does.
func TestNameKeys(t *testing.T) {
	swapped := []gpu.Device{device(0), device(1), device(2), device(3)}
	swapped[0].Name, swapped[1].Name = "nvidia1", "nvidia0"
	swapped[3].Index = gpu.Opt[int]{}
	var index deviceIndex
	index.update(swapped)
	for _, tt := range []struct {
		driver, device string
		want           []string
	}{
		{driverNVIDIA, "gpu-2", []string{"nvidia2"}},
		{driverNVIDIA, "gpu-3", []string{"nvidia3"}},
		{driverNVIDIA, "gpu-1", nil}, // by device node it is the first GPU, by index the second
		{driverNVIDIA, "gpu-x", nil},
		{driverNVIDIA, "2", nil},
		{driverAMD, "gpu-1-129", []string{"renderD129", "card1"}},
		{driverAMD, "gpu-1", nil},
		{driverAMD, "gpu-x-129", nil},
		{driverAMD, "gpu-1-x", nil},
		{"gpu.example.com", "gpu-2", nil},
	} {
		assert.Equal(t, tt.want, nameKeys(&podresources.Dynamic{Driver: tt.driver, Device: tt.device}, &index), "%s %s", tt.driver, tt.device)
	}
	assert.True(t, isGPUDriver(&podresources.Dynamic{Driver: driverAMD, Device: "gpu-1"}))
	assert.False(t, isGPUDriver(&podresources.Dynamic{Driver: driverNVIDIA, Device: "gpu-vfio-1"}), "passed through to a virtual machine")
	assert.False(t, isGPUDriver(&podresources.Dynamic{Driver: "gpu.example.com", Device: "gpu-1"}))
}

var sliceResource = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}

// resourceSlice is what a driver publishes of the node n1.
func resourceSlice(driver string) *unstructured.Unstructured {
	text := func(pairs ...string) map[string]any {
		attributes := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			attributes[pairs[i]] = map[string]any{"string": pairs[i+1]}
		}
		return attributes
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
		"metadata": map[string]any{"name": driver},
		"spec": map[string]any{
			"driver": driver, "nodeName": "n1", "pool": map[string]any{"name": "n1", "generation": int64(1)},
			"devices": []any{
				map[string]any{"name": "gpu-slice", "attributes": text("uuid", migUUID(1), "type", "mig")},
				map[string]any{"name": "gpu-pci", "attributes": text("resource.kubernetes.io/pciBusID", "0000:11:00.0", "type", "gpu")},
				map[string]any{"name": "partition", "attributes": text("resource.kubernetes.io/pciBusID", "0000:1b:00.0", "type", "amdgpu-partition")},
			},
		},
	}}
}
