// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseID(t *testing.T) {
	const id = "01234567-89ab-cdef-0123-456789abcdef"
	tests := []struct {
		resource, id string
		want         target
	}{
		{"nvidia.com/gpu", "GPU-" + strings.ToUpper(id), target{key: "gpu-" + id, vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "GPU-" + id + "::12", target{key: "gpu-" + id, vendor: gpu.NVIDIA, sharing: gpu.SharingReplicas}},
		{"nvidia.com/gpu", "GPU-" + id + "::x", target{key: "gpu-" + id + "::x", vendor: gpu.NVIDIA, extended: true}},
		{"nvidia.com/gpu", "GPU-" + id + "-3", target{key: "gpu-" + id + "-3", vendor: gpu.NVIDIA, extended: true}},
		{"nvidia.com/gpu", "GPU-" + id + "-3::1", target{key: "gpu-" + id + "-3", vendor: gpu.NVIDIA, sharing: gpu.SharingReplicas, extended: true}},
		{"nvidia.com/gpu", "GPU-abc", target{key: "gpu-abc", vendor: gpu.NVIDIA, extended: true}},
		{"nvidia.com/gpu", "GPU-" + id[:35] + "g", target{key: "gpu-" + id[:35] + "g", vendor: gpu.NVIDIA, extended: true}},
		{"nvidia.com/gpu", "GPU-0" + id[:35], target{key: "gpu-0" + id[:35], vendor: gpu.NVIDIA, extended: true}},
		{"nvidia.com/gpu", "MIG-" + id, target{key: "mig-" + id, vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "MIG-" + id + "-0", target{key: "mig-" + id + "-0", vendor: gpu.NVIDIA, extended: true}},
		{"nvidia.com/gpu", "MIG-GPU-" + id + "/1/0", target{key: "gpu-" + id + "/1/0", vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "MIG-GPU-" + id + "/1", target{key: "mig-gpu-" + id + "/1", vendor: gpu.NVIDIA, extended: true}},
		{"nvidia.com/gpu", "MIG-GPU-" + id + "/1/x", target{key: "mig-gpu-" + id + "/1/x", vendor: gpu.NVIDIA, extended: true}},
		{"nvidia.com/gpu", "MIG-GPU-a/1/0", target{key: "mig-gpu-a/1/0", vendor: gpu.NVIDIA, extended: true}},
		{"x.io/y", "nvidia3/gi1", target{key: "nvidia3/gi1", vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "nvidia3/gi1/vgpu2", target{key: "nvidia3/gi1", vendor: gpu.NVIDIA, sharing: gpu.SharingReplicas}},
		{"nvidia.com/gpu", "nvidia3/vgpu2/gi1", target{vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "nvidia", target{vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "0:1", target{vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "2", target{key: "index:2", vendor: gpu.NVIDIA}},
		{"nvidia.com/GA102GL_A10", "2", target{vendor: gpu.NVIDIA}}, // an IOMMU group
		{"nvidia.com/gpu", "tegra", target{key: "tegra", vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu.shared", "tegra::3", target{key: "tegra", vendor: gpu.NVIDIA, sharing: gpu.SharingReplicas}},
		{"amd.com/gpu", "tegra", target{vendor: gpu.AMD}},
		{"amd.com/gpu", "2", target{vendor: gpu.AMD}},
		{"amd.com/gpu", "0000:1B:00.0-slice-3", target{key: "pci:0000:1b:00.0", vendor: gpu.AMD, sharing: gpu.SharingTimeSlicing}},
		{"x.io/y", "00010000:1b:00.0", target{key: "pci:00010000:1b:00.0"}},
		{"amd.com/gpu", "amdgpu_xcp_30", target{key: "amdgpu_xcp_30", vendor: gpu.AMD}},
		{"vendor.io/fpga", "0", target{}},
		{"", "", target{}},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			assert.Equal(t, tt.want, parseID(tt.resource, tt.id))
		})
	}
}

func TestIsPCIAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"0000:1b:00.0": true, "00010000:1B:0a.7": true,
		"": false, "1b:00.0": false, "000:1b:00.0": false, "0000:1b:00:0": false, "0000:1b.00.0": false, "0000:1b:00.00": false,
		"0000:1g:00.0": false, "0000:1b:0g.0": false, "0000:1b:00.g": false, "g000:1b:00.0": false,
	} {
		assert.Equal(t, want, isPCIAddress(address), address)
	}
	assert.True(t, hasNumber("nvidia12", "nvidia"))
	assert.False(t, hasNumber("12", "nvidia"))
	assert.False(t, hasNumber("nvidia1234567890", "nvidia"))
}

func TestVendorOf(t *testing.T) {
	for name, want := range map[string]gpu.Vendor{
		"nvidia.com/gpu": gpu.NVIDIA, "gpu.nvidia.com": gpu.NVIDIA, "amd.com/gpu": gpu.AMD, "gpu.amd.com": gpu.AMD,
		"notnvidia.com/gpu": "", "nvidia.com.evil.io/x": "", "intel.com/gpu": "",
	} {
		assert.Equal(t, want, vendorOf(name), name)
	}
}

func TestIsGPUResource(t *testing.T) {
	for _, name := range []string{
		"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "amd.com/gpu", "amd.com/cpx_nps4", "amd.com/spx_nps1",
		"amd.com/dpx_nps1", "amd.com/tpx_nps1", "amd.com/qpx_nps1",
	} {
		assert.True(t, IsGPUResource(name), name)
	}
	for _, name := range []string{"nvidia.com/hostdev", "amd.com/nic", "example.com/gpu", "gpu", ""} {
		assert.False(t, IsGPUResource(name), name)
	}
}

func FuzzParseID(f *testing.F) {
	for _, id := range []string{"GPU-a::1", "nvidia0/gi1/vgpu2", "0000:1b:00.0-slice-2", "amdgpu_xcp_1", "MIG-GPU-a/1/0", "GPU-01234567-89ab-cdef-0123-456789abcdef-3", "MIG-GPU-01234567-89ab-cdef-0123-456789abcdef/1/0", "7", "::", "-slice-"} {
		f.Add("nvidia.com/gpu", id)
	}
	f.Fuzz(func(t *testing.T, resource, id string) {
		got := parseID(resource, id)
		if rest, ok := strings.CutPrefix(got.key, "index:"); ok {
			assert.Equal(t, gpu.NVIDIA, got.vendor)
			assert.True(t, isNumber(rest))
		}
		if got.extended {
			assert.Equal(t, gpu.NVIDIA, got.vendor)
			assert.NotEmpty(t, got.key)
		}
	})
}
