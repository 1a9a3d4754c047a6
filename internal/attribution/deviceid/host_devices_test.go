// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci/pcitest"
)

// The mediated devices of a GPU (until Turing), of a virtual function of one (Ampere), of an Intel GPU, of a network interface, of no PCI
// function.
const (
	mdevOfGPU       = "c1f0a3d2-5b7e-4c1a-9d3e-000000000001"
	mdevOfVirtual   = "c1f0a3d2-5b7e-4c1a-9d3e-000000000002"
	mdevOfIntel     = "c1f0a3d2-5b7e-4c1a-9d3e-000000000003"
	mdevOfInterface = "c1f0a3d2-5b7e-4c1a-9d3e-000000000004"
	mdevOfMatrix    = "c1f0a3d2-5b7e-4c1a-9d3e-000000000005"
)

func hostSysfs(t testing.TB) *pcitest.Sysfs {
	t.Helper()
	s := pcitest.New(t, t.TempDir())
	s.Function("0000:41:00.0", "0x10de", "0x030200", "nvidia")
	s.Function("0000:41:00.1", "0x10de", "0x040300", "snd_hda_intel")
	s.Function("0000:41:00.4", "0x10de", "0x030200", "nvidia")
	s.Virtual("0000:41:00.4", "0000:41:00.0")
	s.Function("0000:42:00.0", "0x10de", "0x030000", "vfio-pci")
	s.Function("0000:42:00.1", "0x10de", "0x040300", "vfio-pci")
	s.Function("0000:c1:00.0", "0x1002", "0x120000", "gim")
	s.Function("0000:c1:02.0", "0x1002", "0x120000", "vfio-pci")
	s.Virtual("0000:c1:02.0", "0000:c1:00.0")
	s.Function("0000:00:02.0", "0x8086", "0x030000", "i915")
	s.Function("0000:51:00.0", "0x15b3", "0x020000", "mlx5_core")
	s.Mediated(mdevOfGPU, "0000:41:00.0")
	s.Mediated(mdevOfVirtual, "0000:41:00.4")
	s.Mediated(mdevOfIntel, "0000:00:02.0")
	s.Mediated(mdevOfInterface, "0000:51:00.0")
	s.Mediated(mdevOfMatrix, "matrix")
	s.Group("40", "0000:41:00.0", "0000:41:00.1")
	s.Group("41", mdevOfGPU)
	s.Group("42", "0000:42:00.0", "0000:42:00.1")
	s.Group("43", "0000:41:00.4")
	s.Group("44", "0000:51:00.0")
	s.Group("45", "0000:c1:02.0")
	s.Group("46", mdevOfMatrix)
	s.Group("47", "0000:43:00.0")
	s.Function("0000:43:00.0", "0x10de", "0x030200", "nouveau")
	s.VFIO("vfio0", "0000:42:00.0")
	s.VFIO("vfio1", "0000:51:00.0")
	s.VFIO("vfio2", "0000:c1:02.0")
	s.DRM("card0", "0000:00:02.0")
	s.DRM("card1", "0000:41:00.0")
	s.DRM("renderD128", "0000:41:00.0")
	return s
}

func TestHostDevicesFind(t *testing.T) {
	host := NewHostDevices(hostSysfs(t).Root)
	vgpu := HostDevice{IsGPU: true, Vendor: gpu.NVIDIA, Key: "pci:0000:41:00.0", Virtual: true}
	passed := HostDevice{IsGPU: true, Vendor: gpu.NVIDIA, Key: "pci:0000:42:00.0", Foreign: true}
	for _, tt := range []struct {
		name, id string
		want     HostDevice
	}{
		{"a GPU", "0000:41:00.0", HostDevice{IsGPU: true, Vendor: gpu.NVIDIA, Key: "pci:0000:41:00.0"}},
		{"with eight digits", "00000000:41:00.0", HostDevice{IsGPU: true, Vendor: gpu.NVIDIA, Key: "pci:0000:41:00.0"}},
		{"its sound", "0000:41:00.1", HostDevice{}},
		{"a virtual function", "0000:41:00.4", vgpu},
		{"passed through", "0000:42:00.0", passed},
		{"AMD's virtual function", "0000:C1:02.0", HostDevice{IsGPU: true, Vendor: gpu.AMD, Key: "pci:0000:c1:00.0", Virtual: true, Foreign: true}},
		{"another vendor's GPU", "0000:00:02.0", HostDevice{IsGPU: true, Key: "pci:0000:00:02.0", Foreign: true}},
		{"a network interface", "0000:51:00.0", HostDevice{}},
		{"a function that is not there", "0000:99:00.0", HostDevice{}},

		{"vGPU", mdevOfGPU, vgpu},
		{"vGPU in capitals", strings.ToUpper(mdevOfGPU), vgpu},
		{"vGPU on a virtual function", mdevOfVirtual, vgpu},
		{"another vendor's", mdevOfIntel, HostDevice{IsGPU: true, Key: "pci:0000:00:02.0", Virtual: true, Foreign: true}},
		{"of a network interface", mdevOfInterface, HostDevice{}},
		{"of no PCI function", mdevOfMatrix, HostDevice{}},
		{"a UUID that is not there", "c1f0a3d2-5b7e-4c1a-9d3e-00000000000f", HostDevice{}},

		{"group of a GPU that the host uses", "40", HostDevice{}},
		{"group of a vGPU", "41", vgpu},
		{"group of a GPU that is passed through", "42", passed},
		{"group of a virtual function", "43", vgpu},
		{"group of a network interface", "44", HostDevice{}},
		{"group of AMD's virtual function", "45", HostDevice{IsGPU: true, Vendor: gpu.AMD, Key: "pci:0000:c1:00.0", Virtual: true, Foreign: true}},
		{"group of no PCI function", "46", HostDevice{}},
		{"group of a GPU of another driver that is not VFIO", "47", HostDevice{}},
		{"a group that is not there", "99", HostDevice{}},

		{"VFIO device", "vfio0", passed},
		{"VFIO device of a network interface", "vfio1", HostDevice{}},
		{"VFIO device of AMD's virtual function", "vfio2", HostDevice{IsGPU: true, Vendor: gpu.AMD, Key: "pci:0000:c1:00.0", Virtual: true, Foreign: true}},
		{"a VFIO device that is not there", "vfio9", HostDevice{}},

		{"another form", "GPU-" + mdevOfGPU, HostDevice{}},
		{"a path", "../41", HostDevice{}},
		{"nothing", "", HostDevice{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := host.Find(tt.id, true)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			got, err = host.Find(tt.id, false)
			require.NoError(t, err)
			if isNumber(tt.id) {
				tt.want = HostDevice{}
			}
			assert.Equal(t, tt.want, got, "a number that is no group")
		})
	}
}

func TestHostDevicesFindNode(t *testing.T) {
	host := NewHostDevices(hostSysfs(t).Root)
	nvidia := HostDevice{IsGPU: true, Vendor: gpu.NVIDIA, Key: "pci:0000:41:00.0"}
	for name, want := range map[string]HostDevice{
		"card0": {IsGPU: true, Key: "pci:0000:00:02.0", Foreign: true}, "card1": nvidia, "renderD128": nvidia, "card9": {}, "../card1": {}, "": {},
	} {
		got, err := host.FindNode(name)
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
}

// A device that cannot be read is an error, never a device other than a GPU.
func TestHostDevicesUnreadable(t *testing.T) {
	s := hostSysfs(t)
	s.Function("0000:44:00.0", "0x10de", "garbage", "nvidia")
	s.Function("0000:44:00.4", "0x10de", "0x030200", "nvidia")
	s.Virtual("0000:44:00.4", "0000:44:00.0")
	s.Mediated("c1f0a3d2-5b7e-4c1a-9d3e-000000000006", "0000:44:00.0")
	s.Group("50", "0000:44:00.0")
	host := NewHostDevices(s.Root)
	for _, id := range []string{"0000:44:00.0", "0000:44:00.4", "c1f0a3d2-5b7e-4c1a-9d3e-000000000006", "50"} {
		_, err := host.Find(id, true)
		assert.Error(t, err, id)
	}
}

func FuzzHostDevices(f *testing.F) {
	for _, id := range []string{"0000:41:00.0", "0000:41:00.4", mdevOfGPU, "41", "42", "vfio0", "vfio2", "..", "0000:41:00.0/../0000:42:00.0", ""} {
		f.Add(id)
	}
	host := NewHostDevices(hostSysfs(f).Root)
	f.Fuzz(func(t *testing.T, id string) {
		for _, groups := range []bool{false, true} {
			d, err := host.Find(id, groups)
			require.NoError(t, err)
			if !d.IsGPU {
				assert.Equal(t, HostDevice{}, d)
				continue
			}
			assert.True(t, isPCIAddress(strings.TrimPrefix(d.Key, pciPrefix)), d.Key)
			assert.True(t, isPCIAddress(id) || isUUID(id) || (groups && isNumber(id)) || hasNumber(id, "vfio"), id)
		}
		_, err := host.FindNode(id)
		require.NoError(t, err)
	})
}
