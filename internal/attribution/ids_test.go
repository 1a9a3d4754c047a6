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
	tests := []struct {
		resource, id string
		want         target
	}{
		{"nvidia.com/gpu", "GPU-ABC", target{"gpu-abc", gpu.NVIDIA, gpu.SharingExclusive}},
		{"nvidia.com/gpu", "GPU-a::12", target{"gpu-a", gpu.NVIDIA, gpu.SharingReplicas}},
		{"nvidia.com/gpu", "GPU-a::x", target{"gpu-a::x", gpu.NVIDIA, gpu.SharingExclusive}},
		{"nvidia.com/gpu", "MIG-GPU-a/1/0", target{"gpu-a/1/0", gpu.NVIDIA, gpu.SharingExclusive}},
		{"x.io/y", "nvidia3/gi1", target{"nvidia3/gi1", gpu.NVIDIA, gpu.SharingExclusive}},
		{"nvidia.com/gpu", "nvidia3/gi1/vgpu2", target{"nvidia3/gi1", gpu.NVIDIA, gpu.SharingReplicas}},
		{"nvidia.com/gpu", "nvidia3/vgpu2/gi1", target{"", gpu.NVIDIA, gpu.SharingExclusive}},
		{"nvidia.com/gpu", "nvidia", target{"", gpu.NVIDIA, gpu.SharingExclusive}},
		{"nvidia.com/gpu", "0:1", target{"", gpu.NVIDIA, gpu.SharingExclusive}},
		{"nvidia.com/gpu", "2", target{"index:2", gpu.NVIDIA, gpu.SharingExclusive}},
		{"amd.com/gpu", "2", target{"", gpu.AMD, gpu.SharingExclusive}},
		{"amd.com/gpu", "0000:1B:00.0-slice-3", target{"pci:0000:1b:00.0", gpu.AMD, gpu.SharingTimeSlicing}},
		{"x.io/y", "00010000:1b:00.0", target{"pci:00010000:1b:00.0", "", gpu.SharingExclusive}},
		{"amd.com/gpu", "amdgpu_xcp_30", target{"amdgpu_xcp_30", gpu.AMD, gpu.SharingExclusive}},
		{"vendor.io/fpga", "0", target{"", "", gpu.SharingExclusive}},
		{"", "", target{}},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			assert.Equal(t, tt.want, parseID(tt.resource, tt.id))
		})
	}
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
	for _, name := range []string{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "amd.com/gpu", "amd.com/cpx_nps4", "amd.com/spx_nps1"} {
		assert.True(t, isGPUResource(name), name)
	}
	for _, name := range []string{"nvidia.com/hostdev", "amd.com/nic", "example.com/gpu", "gpu", ""} {
		assert.False(t, isGPUResource(name), name)
	}
}

func FuzzParseID(f *testing.F) {
	for _, id := range []string{"GPU-a::1", "nvidia0/gi1/vgpu2", "0000:1b:00.0-slice-2", "amdgpu_xcp_1", "MIG-GPU-a/1/0", "7", "::", "-slice-"} {
		f.Add("nvidia.com/gpu", id)
	}
	f.Fuzz(func(t *testing.T, resource, id string) {
		got := parseID(resource, id)
		if rest, ok := strings.CutPrefix(got.key, "index:"); ok {
			assert.Equal(t, gpu.NVIDIA, got.vendor)
			assert.True(t, isNumber(rest))
		}
	})
}
