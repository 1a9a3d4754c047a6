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
)

// virtualized fills the machine's sysfs: two GPUs that the host reads, of which the second has virtual ones, one that is passed through,
// and an Intel GPU.
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

// Allocations that are not by the names that a source has of its GPUs: which GPU they are of, and whether they leave in doubt who holds the
// others.
func TestHostAllocations(t *testing.T) {
	for _, tt := range []struct {
		name, resource, id string
		setting            string
		want               outcome
	}{
		{"vGPU, NVIDIA's plugin", "nvidia.com/GRID_P40-1Q", mdev, "", second},
		{"vGPU on a virtual function", "nvidia.com/NVIDIA_A10-12Q", mdevVirtual, "", second},
		{"vGPU by another's resource", "example.com/vgpu", mdev, "", second},
		{"vGPU, KubeVirt's plugin", "nvidia.com/GRID_T4-1Q", "42", "", second},
		{"vGPU, KubeVirt's plugin, a name of its own", "nvidia.com/my-vgpu", "42", "", second},
		{"vGPU that is gone", "nvidia.com/GRID_P40-1Q", "4b20d080-1b54-4048-85b3-a6a62d165cff", "", unresolved},
		{"vGPU that is gone, KubeVirt's plugin", "nvidia.com/GRID_P40-1Q", "99", "", unresolved},
		{"vGPU of another vendor", "example.com/vgpu", mdevIntel, "", nobody},
		{"virtual function", "nvidia.com/NVIDIA_L40S-24Q", "0000:11:00.4", "", second},
		{"virtual function, KubeVirt's plugin", "nvidia.com/NVIDIA_L40S-24Q", "43", "", second},
		{"passed through", "nvidia.com/GA102GL_A10", "0000:22:00.0", "", nobody},
		{"passed through, by the group", "nvidia.com/GA102GL_A10", "44", "", nobody},
		{"passed through, by a known resource", "nvidia.com/gpu", "0000:22:00.0", "", nobody},
		{"passed through, Kata", "nvidia.com/pgpu", "vfio3", "", nobody},
		{"passed through, the setting", "example.com/a10", "44", "example.com/*", nobody},
		{"a GPU that was not read", "example.com/a10", "0000:23:00.0", "", lost},
		{"a GPU of another driver", "example.com/a10", "0000:24:00.0", "", nobody},
		{"virtual function of a GPU of another driver", "nvidia.com/NVIDIA_A10-4Q", "0000:24:00.4", "", nobody},
		{"a GPU of another vendor", "example.com/gpu", "0000:00:02.0", "", nobody},

		{"a number that is a group's by chance", "rdma/hca_shared_devices_a", "42", "", ignored("rdma/hca_shared_devices_a")},
		{"a number that is the group of a GPU of the host", "nvidia.com/something", "10", "", ignored("nvidia.com/something")},
		{"virtual function of an interface", "nvidia.com/hostdev", "0000:51:00.0", "", ignored("nvidia.com/hostdev")},
		{"EFA", "vpc.amazonaws.com/efa", "rdmap16s27", "", ignored("vpc.amazonaws.com/efa")},
		{"KVM", "devices.kubevirt.io/kvm", "kvm3", "", ignored("devices.kubevirt.io/kvm")},
		{"a UUID of something else", "example.com/thing", "4b20d080-1b54-4048-85b3-a6a62d165cff", "", ignored("example.com/thing")},

		{"tkestack", "tencent.com/vcuda-core", "tencent.com/vcuda-core-12", "", unresolved},
		{"tkestack, memory", "tencent.com/vcuda-memory", "tencent.com/vcuda-memory-268435456-7", "", unresolved},
		{"the setting", "example.com/share", "slot-1", "example.com/share", unresolved},
		{"the setting, a pattern", "example.com/share-4", "slot-1", "example.com/share-*", unresolved},
		{"the setting does not match", "example.com/share", "slot-1", "example.com/gpu*", ignored("example.com/share")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, func(c *Config) {
				if tt.setting != "" {
					c.PodResources.GPUResources = []string{tt.setting}
				}
			}, podOf(train), podOf(infer))
			m.virtualized()
			logs := m.observe()
			m.start()
			m.kubelet.Set(
				kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))),
				kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, tt.resource, tt.id)))
			node := m.apply(nodeOf(device(0), device(1)))
			assertOutcome(t, tt.want, node, logs)
			if tt.want.holds {
				u := use(t, node, infer.joined(), uuid(1))
				assert.Equal(t, tt.resource, u.Resource)
				assert.Equal(t, gpu.SharingTimeSlicing, u.Sharing)
				assert.False(t, u.MemoryLimit.Known(), "it has a part of the memory")
			}
		})
	}
}

// Claims of DRA drivers.
func TestHostAllocationsDynamic(t *testing.T) {
	const unknown = "gpu.example.com"
	for _, tt := range []struct {
		name, driver, device string
		cdi                  []string
		setting              string
		want                 outcome
	}{
		{"HAMi", deviceid.DriverHAMi, "hami-gpu-1", nil, "", second},
		{"HAMi, by its slice alone", deviceid.DriverHAMi, "x", nil, "", unresolved},
		{"HAMi, passed through", deviceid.DriverHAMi, "gpu-vfio-0", nil, "", nobody},
		{"unknown, the CDI file names a GPU", unknown, "a", []string{"example.com/device=nvidia1"}, "", second},
		{"unknown, the CDI file names a lost GPU", unknown, "a", []string{"example.com/device=nvidia7"}, "", lost},
		{"unknown, the CDI file names another vendor's GPU", unknown, "a", []string{"example.com/device=intel"}, "", nobody},
		{"unknown, the CDI file names something else", unknown, "a", []string{"example.com/device=fpga"}, "", ignored(unknown)},
		{"unknown", unknown, "a", nil, "", ignored(unknown)},
		{"the setting", unknown, "a", nil, "gpu.example.*", unresolved},
		{"network interface", "dra.net", "eth1", nil, "", ignored("dra.net")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, func(c *Config) {
				c.Owners = nil
				if tt.setting != "" {
					c.PodResources.GPUResources = []string{tt.setting}
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
				kubelettest.Pod(infer.pod, kubelettest.Claimed(infer.name, "claim", tt.driver, tt.device, tt.cdi...)))
			assertOutcome(t, tt.want, m.apply(nodeOf(device(0), device(1))), logs)
		})
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

// Where sysfs cannot be read, a device may be a GPU, which is reported.
func TestUnreadableSysfs(t *testing.T) {
	m := newMachine(t, noAPI)
	pcitest.New(t, m.sys).Function("0000:11:00.4", "0x10de", "garbage", "")
	pcitest.New(t, m.sys).Mediated(mdev, "0000:11:00.4")
	m.start()
	m.kubelet.Set(kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, "example.com/vgpu", mdev)))
	node := m.apply(nodeOf(device(0)))
	require.Len(t, node.Problems, 2)
	assert.Equal(t, "sysfs", node.Problems[0].What)
	require.ErrorContains(t, node.Problems[0].Err, "example.com/vgpu device "+mdev+" may be of a GPU")
	assert.False(t, node.Devices[0].HoldersKnown)
}
