// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci/pcitest"
)

const (
	mdev        = "4b20d080-1b54-4048-85b3-a6a62d165c01" // of the second GPU
	mdevVirtual = "4b20d080-1b54-4048-85b3-a6a62d165c02" // of a virtual function of the second GPU
	mdevIntel   = "4b20d080-1b54-4048-85b3-a6a62d165c03"
	mdevGone    = "4b20d080-1b54-4048-85b3-a6a62d165cff"
)

// virtualized fills the machine's sysfs: two GPUs that the host reads, one that is passed through, and an Intel GPU. The second GPU has
// virtual ones.
func (m *machine) virtualized() *pcitest.Sysfs {
	m.t.Helper()
	s := pcitest.New(m.t, m.sys)
	s.Function("0000:10:00.0", "0x10de", "0x030200", "nvidia")
	s.Function("0000:11:00.0", "0x10de", "0x030200", "nvidia")
	s.Function("0000:11:00.4", "0x10de", "0x030200", "nvidia")
	s.Virtual("0000:11:00.4", "0000:11:00.0")
	s.Function("0000:22:00.0", "0x10de", "0x030200", "vfio-pci")
	s.Function("0000:22:00.1", "0x10de", "0x040300", "vfio-pci")
	s.Function("0000:23:00.0", "0x10de", "0x030200", "nvidia") // no source has read it
	s.Function("0000:24:00.0", "0x10de", "0x030200", "nouveau")
	s.Function("0000:24:00.4", "0x10de", "0x030200", "vfio-pci")
	s.Virtual("0000:24:00.4", "0000:24:00.0")
	s.VFIO("vfio3", "0000:22:00.0")
	s.Function("0000:00:02.0", "0x8086", "0x030000", "i915")
	s.Function("0000:51:00.0", "0x15b3", "0x020000", "mlx5_core")
	s.Mediated(mdev, "0000:11:00.0")
	s.Mediated(mdevVirtual, "0000:11:00.4")
	s.Mediated(mdevIntel, "0000:00:02.0")
	s.Group("10", "0000:10:00.0")
	s.Group("42", mdev)
	s.Group("43", "0000:11:00.4")
	s.Group("44", "0000:22:00.0", "0000:22:00.1")
	s.DRM("card0", "0000:00:02.0")
	return s
}

// outcome is what an allocation means for the devices.
type outcome struct {
	holds bool   // the container holds the second GPU
	known bool   // it is known who holds the second GPU
	log   string // the resource or driver that is logged as ignored
	err   string // the problem; empty: none
}

var (
	second     = outcome{holds: true, known: true}
	nobody     = outcome{known: true}
	lost       = outcome{known: true, err: "is not one of the GPUs that were read"}
	unresolved = outcome{err: "does not identify one of the GPUs"}
)

func ignored(name string) outcome { return outcome{known: true, log: name} }

// The projects whose device plugins and DRA drivers write the forms.
const (
	nvidiaKubeVirtSource  = "https://github.com/NVIDIA/kubevirt-gpu-device-plugin/blob/master/pkg/device_plugin/device_plugin.go"
	nvidiaVFIOvGPUSource  = "https://github.com/NVIDIA/kubevirt-gpu-device-plugin/blob/master/pkg/device_plugin/vfio_vgpu.go"
	nvidiaSandboxSource   = "https://github.com/NVIDIA/sandbox-device-plugin/blob/main/pkg/device_plugin/device_plugin.go"
	kubeVirtMdevSource    = "https://github.com/kubevirt/kubevirt/blob/main/pkg/virt-handler/device-manager/mediated_device.go"
	kubeVirtPCISource     = "https://github.com/kubevirt/kubevirt/blob/main/pkg/virt-handler/device-manager/pci_device.go"
	kubeVirtGenericSource = "https://github.com/kubevirt/kubevirt/blob/main/pkg/virt-handler/device-manager/generic_device.go"
	amdVirtualSource      = "https://github.com/ROCm/k8s-device-plugin/blob/master/internal/pkg/amdgpu/amdgpu_sriov.go"
	amdPassthroughSource  = "https://github.com/ROCm/k8s-device-plugin/blob/master/internal/pkg/amdgpu/amdgpu_pf.go"
	rdmaSource            = "https://github.com/Mellanox/k8s-rdma-shared-dev-plugin/blob/master/pkg/resources/server.go"
	sriovNetworkSource    = "https://github.com/k8snetworkplumbingwg/sriov-network-device-plugin"
	efaSource             = "https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin"
	tkestackSource        = "https://github.com/tkestack/gpu-manager/blob/master/pkg/services/allocator/nvidia/allocator.go"
	hamiDRASource         = "https://github.com/Project-HAMi/k8s-dra-driver/blob/main/cmd/hami-kubelet-plugin/hami_core.go"
	nvidiaDRASource       = "https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/main/cmd/gpu-kubelet-plugin/deviceinfo.go"
	dranetSource          = "https://github.com/kubernetes-sigs/dranet"
	sysfsSource           = "https://docs.kernel.org/driver-api/vfio-mediated-device.html"
	deviceNodeSource      = "https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md"
)

// Allocations that are not by the names that a source has of its GPUs: which GPU they are of, and whether they leave in doubt who holds the
// others.
func hostAllocations() []platform {
	plugin := func(resource, id string, want outcome) allocationForm {
		return allocationForm{resource: resource, id: id, want: want}
	}
	set := func(setting, resource, id string, want outcome) allocationForm {
		return allocationForm{resource: resource, id: id, setting: setting, want: want}
	}
	return []platform{
		{"vGPU, NVIDIA's plugin", nvidiaKubeVirtSource, plugin("nvidia.com/GRID_P40-1Q", mdev, second)},
		{"vGPU on a virtual function", nvidiaKubeVirtSource, plugin("nvidia.com/NVIDIA_A10-12Q", mdevVirtual, second)},
		{"vGPU by another's resource", sysfsSource, plugin("example.com/vgpu", mdev, second)},
		{"vGPU, KubeVirt's plugin", kubeVirtMdevSource, plugin("nvidia.com/GRID_T4-1Q", "42", second)},
		{"vGPU, KubeVirt's plugin, a name of its own", kubeVirtMdevSource, plugin("nvidia.com/my-vgpu", "42", second)},
		{"vGPU that is gone", nvidiaKubeVirtSource, plugin("nvidia.com/GRID_P40-1Q", mdevGone, unresolved)},
		{"vGPU that is gone, KubeVirt's plugin", kubeVirtMdevSource, plugin("nvidia.com/GRID_P40-1Q", "99", unresolved)},
		{"vGPU of another vendor", sysfsSource, plugin("example.com/vgpu", mdevIntel, nobody)},
		{"virtual function", nvidiaVFIOvGPUSource, plugin("nvidia.com/NVIDIA_L40S-24Q", "0000:11:00.4", second)},
		{"virtual function, KubeVirt's plugin", kubeVirtPCISource, plugin("nvidia.com/NVIDIA_L40S-24Q", "43", second)},
		{"passed through", nvidiaKubeVirtSource, plugin("nvidia.com/GA102GL_A10", "0000:22:00.0", nobody)},
		{"passed through, by the group", kubeVirtPCISource, plugin("nvidia.com/GA102GL_A10", "44", nobody)},
		{"passed through, by a known resource", sysfsSource, plugin("nvidia.com/gpu", "0000:22:00.0", nobody)},
		{"passed through, Kata", nvidiaSandboxSource, plugin("nvidia.com/pgpu", "vfio3", nobody)},
		{"passed through, the setting", kubeVirtPCISource, set("example.com/*", "example.com/a10", "44", nobody)},
		{"a GPU that was not read", sysfsSource, plugin("example.com/a10", "0000:23:00.0", lost)},
		{"a GPU of another driver", sysfsSource, plugin("example.com/a10", "0000:24:00.0", nobody)},
		{"virtual function of a GPU of another driver", sysfsSource, plugin("nvidia.com/NVIDIA_A10-4Q", "0000:24:00.4", nobody)},
		{"a GPU of another vendor", sysfsSource, plugin("example.com/gpu", "0000:00:02.0", nobody)},

		{"a number that is a group's by chance", rdmaSource, plugin("rdma/hca_shared_devices_a", "42", ignored("rdma/hca_shared_devices_a"))},
		{"a number that is the group of a GPU of the host", rdmaSource, plugin("nvidia.com/something", "10", ignored("nvidia.com/something"))},
		{"virtual function of an interface", sriovNetworkSource, plugin("nvidia.com/hostdev", "0000:51:00.0", ignored("nvidia.com/hostdev"))},
		{"EFA", efaSource, plugin("vpc.amazonaws.com/efa", "rdmap16s27", ignored("vpc.amazonaws.com/efa"))},
		{"KVM", kubeVirtGenericSource, plugin("devices.kubevirt.io/kvm", "kvm3", ignored("devices.kubevirt.io/kvm"))},
		{"a UUID of something else", sysfsSource, plugin("example.com/thing", mdevGone, ignored("example.com/thing"))},

		{"tkestack", tkestackSource, plugin("tencent.com/vcuda-core", "tencent.com/vcuda-core-12", unresolved)},
		{"tkestack, memory", tkestackSource, plugin("tencent.com/vcuda-memory", "tencent.com/vcuda-memory-268435456-7", unresolved)},
		{"the setting", tkestackSource, set("example.com/share", "example.com/share", "slot-1", unresolved)},
		{"the setting, a pattern", tkestackSource, set("example.com/share-*", "example.com/share-4", "slot-1", unresolved)},
		{"the setting does not match", tkestackSource, set("example.com/gpu*", "example.com/share", "slot-1", ignored("example.com/share"))},
	}
}

// allocationForm is an allocation by a device plugin, and what it means for two GPUs. Another container has the first GPU.
type allocationForm struct {
	resource, id string
	setting      string // a pattern in gpu_resources
	want         outcome
}

func (f allocationForm) check(t *testing.T) {
	m := newMachine(t, func(c *Config) {
		if f.setting != "" {
			c.PodResources.GPUResources = []string{f.setting}
		}
	}, podOf(train), podOf(infer))
	m.virtualized()
	logs := m.observe()
	m.start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, f.resource, f.id)))
	node := m.apply(nodeOf(device(0), device(1)))
	assertOutcome(t, f.want, node, logs)
	if f.want.holds {
		u := use(t, node, infer.joined(), uuid(1))
		assert.Equal(t, f.resource, u.Resource)
		assert.Equal(t, gpu.SharingTimeSlicing, u.Sharing)
		assert.False(t, u.MemoryLimit.Known(), "it has a part of the memory")
	}
}

const unknownDriver = "gpu.example.com"

// Claims of DRA drivers.
func hostClaims() []platform {
	claim := func(driver, device string, want outcome, cdi ...string) claimForm {
		return claimForm{driver: driver, device: device, cdi: cdi, want: want}
	}
	return []platform{
		{"HAMi's DRA driver", hamiDRASource, claim(deviceid.DriverHAMi, "hami-gpu-1", second)},
		{"HAMi's DRA driver, a name that is not known", hamiDRASource, claim(deviceid.DriverHAMi, "x", unresolved)},
		{"HAMi's DRA driver, passed through", hamiDRASource, claim(deviceid.DriverHAMi, "gpu-vfio-0", nobody)},
		{"NVIDIA's DRA driver, passed through", nvidiaDRASource, claim(deviceid.DriverNVIDIA, "gpu-vfio-0", nobody)},
		{"DRA driver that is not known, the CDI file names a GPU", deviceNodeSource, claim(unknownDriver, "a", second, "example.com/device=nvidia1")},
		{"DRA driver that is not known, the CDI file names a lost GPU", deviceNodeSource, claim(unknownDriver, "a", lost, "example.com/device=nvidia7")},
		{"DRA driver that is not known, the CDI file names another vendor's GPU", deviceNodeSource, claim(unknownDriver, "a", nobody, "example.com/device=intel")},
		{"DRA driver that is not known, the CDI file names something else", deviceNodeSource, claim(unknownDriver, "a", ignored(unknownDriver), "example.com/device=fpga")},
		{"DRA driver that is not known", deviceNodeSource, claim(unknownDriver, "a", ignored(unknownDriver))},
		{"DRA driver, the setting", deviceNodeSource, claimForm{driver: unknownDriver, device: "a", setting: "gpu.example.*", want: unresolved}},
		{"DRA driver of network interfaces", dranetSource, claim("dra.net", "eth1", ignored("dra.net"))},
	}
}

// claimForm is a device of a claim, and what it means for two GPUs. Another container has the first GPU.
type claimForm struct {
	driver, device string
	cdi            []string
	setting        string // a pattern in gpu_resources
	want           outcome
}

func (f claimForm) check(t *testing.T) {
	m := newMachine(t, func(c *Config) {
		c.Owners = nil
		if f.setting != "" {
			c.PodResources.GPUResources = []string{f.setting}
		}
	})
	m.virtualized()
	m.file(m.cdi, "example.yaml", `cdiVersion: 0.6.0
kind: example.com/device
devices:
- name: nvidia1
  containerEdits: {deviceNodes: [{path: /dev/nvidia1}]}
- name: nvidia7
  containerEdits: {deviceNodes: [{path: /dev/nvidia7}]}
- name: intel
  containerEdits: {deviceNodes: [{path: /dev/dri/card0}]}
- name: fpga
  containerEdits: {deviceNodes: [{path: /dev/fpga0}]}
`)
	logs := m.observe()
	m.start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))),
		kubelettest.Pod(infer.pod, kubelettest.Claimed(infer.name, "claim", f.driver, f.device, f.cdi...)))
	assertOutcome(t, f.want, m.apply(nodeOf(device(0), device(1))), logs)
}

// AMD's device plugin hands out IOMMU groups to virtual machines, under the name of its GPUs too. Their driver is not the one that the GPUs
// of this machine are read by.
func amdVirtualMachines() []platform {
	return []platform{
		{"AMD, virtual function", amdVirtualSource, amdGroupForm{"amd.com/gpu", "218", ""}},
		{"AMD, virtual function, mixed strategy", amdVirtualSource, amdGroupForm{"amd.com/gpu_vf", "218", ""}},
		{"AMD, passed through", amdPassthroughSource, amdGroupForm{"amd.com/gpu", "230", ""}},
		{"AMD, passed through, mixed strategy", amdPassthroughSource, amdGroupForm{"amd.com/gpu_pf", "230", ""}},
		{"AMD, a group that is gone", amdVirtualSource, amdGroupForm{"amd.com/gpu_vf", "231", "does not identify one of the GPUs"}},
	}
}

// amdGroupForm is an allocation of an IOMMU group by AMD's device plugin. No GPU that was read gets a holder by it.
type amdGroupForm struct{ resource, id, problem string }

func (f amdGroupForm) check(t *testing.T) {
	m := newMachine(t, noAPI)
	s := pcitest.New(t, m.sys)
	s.Function("0000:c0:00.0", "0x1002", "0x120000", "gim")
	s.Function("0000:c0:02.0", "0x1002", "0x120000", "vfio-pci")
	s.Virtual("0000:c0:02.0", "0000:c0:00.0")
	s.Function("0000:d0:00.0", "0x1002", "0x120000", "vfio-pci")
	s.Group("218", "0000:c0:02.0")
	s.Group("230", "0000:d0:00.0")
	m.start()
	m.kubelet.Set(kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, f.resource, f.id)))
	node := m.apply(nodeOf(amdGPU()...))
	if f.problem != "" {
		require.Len(t, node.Problems, 1)
		require.ErrorContains(t, node.Problems[0].Err, f.problem)
	} else {
		require.Empty(t, node.Problems)
	}
	for _, d := range node.Devices {
		assert.Equal(t, f.problem == "", d.HoldersKnown)
		assert.Empty(t, d.Holders)
	}
}

func assertOutcome(t *testing.T, want outcome, node *gpu.Node, logs *observer.ObservedLogs) {
	t.Helper()
	if want.err == "" {
		require.Empty(t, node.Problems)
	} else {
		require.Len(t, node.Problems, 1)
		require.ErrorContains(t, node.Problems[0].Err, want.err)
	}
	assert.Len(t, node.Devices[0].Holders, 1)
	assert.Equal(t, want.known, node.Devices[0].HoldersComplete)
	assert.Equal(t, want.known, node.Devices[1].HoldersKnown)
	assert.Equal(t, want.holds, len(node.Devices[1].Holders) == 1)
	var lines []string
	for _, entry := range logs.All() {
		lines = append(lines, entry.Message)
	}
	if want.log == "" {
		assert.Empty(t, lines)
		return
	}
	assert.Equal(t, []string{"Allocations that do not count as GPUs: " + want.log}, lines)
}

// observe returns what the Attributor logs.
func (m *machine) observe() *observer.ObservedLogs {
	core, logs := observer.New(zapcore.DebugLevel)
	m.logger = zap.New(core)
	return logs
}

// A GPU that runs in MIG mode has virtual ones on its instances. Which instance is not known; the other GPUs are unaffected.
func TestVirtualGPUOfPartitions(t *testing.T) {
	m := newMachine(t, noAPI)
	m.virtualized()
	m.start()
	m.kubelet.Set(kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, "nvidia.com/GRID_A100-1-10C", mdev)))
	node := m.apply(nodeOf(device(0), device(1), mig(1, 1), mig(1, 2)))
	require.Len(t, node.Problems, 1)
	require.ErrorContains(t, node.Problems[0].Err, "does not identify one of the GPUs")
	assert.True(t, node.Devices[0].HoldersKnown)
	for _, d := range node.Devices[1:] {
		assert.False(t, d.HoldersKnown, d.ID)
		assert.Empty(t, d.Holders)
	}
}

// A vGPU has its GPU for as long as the device exists, and several have one GPU.
func TestVirtualGPUs(t *testing.T) {
	m := newMachine(t, noAPI)
	m.virtualized()
	m.start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, "nvidia.com/GRID_P40-1Q", mdev)),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, "nvidia.com/GRID_P40-1Q", mdevVirtual)))
	for range 3 {
		node := m.apply(nodeOf(device(0), device(1)), 10)
		require.Empty(t, node.Problems)
		assert.Len(t, node.Devices[1].Holders, 2)
	}
}

// If sysfs cannot be read, a device may be a GPU, which is reported.
func TestUnreadableSysfs(t *testing.T) {
	m := newMachine(t, noAPI)
	pcitest.New(t, m.sys).Function("0000:11:00.4", "0x10de", "garbage", "")
	pcitest.New(t, m.sys).Mediated(mdev, "0000:11:00.4")
	m.start()
	m.kubelet.Set(kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, "example.com/vgpu", mdev)))
	node := m.apply(nodeOf(device(0)))
	require.Len(t, node.Problems, 2)
	assert.Equal(t, "sysfs", node.Problems[0].What)
	require.ErrorContains(t, node.Problems[0].Err, "example.com/vgpu device "+mdev+" may be for a GPU")
	assert.False(t, node.Devices[0].HoldersKnown)
}
