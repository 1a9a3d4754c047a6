// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParsePluginID(t *testing.T) {
	const id = "01234567-89ab-cdef-0123-456789abcdef"
	tests := []struct {
		resource, id string
		want         ID
	}{
		{"nvidia.com/gpu", "GPU-" + strings.ToUpper(id), ID{Key: "gpu-" + id, Vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "GPU-" + id + "::12", ID{Key: "gpu-" + id, Vendor: gpu.NVIDIA, Sharing: gpu.SharingReplicas}},
		{"nvidia.com/gpu", "GPU-" + id + "::x", ID{Key: "gpu-" + id + "::x", Vendor: gpu.NVIDIA, Extended: true}},
		{"nvidia.com/gpu", "GPU-" + id + "-3", ID{Key: "gpu-" + id + "-3", Vendor: gpu.NVIDIA, Extended: true}},
		{"nvidia.com/gpu", "GPU-" + id + "-3::1", ID{Key: "gpu-" + id + "-3", Vendor: gpu.NVIDIA, Sharing: gpu.SharingReplicas, Extended: true}},
		{"nvidia.com/gpu", "GPU-abc", ID{Key: "gpu-abc", Vendor: gpu.NVIDIA, Extended: true}},
		{"nvidia.com/gpu", "GPU-" + id[:35] + "g", ID{Key: "gpu-" + id[:35] + "g", Vendor: gpu.NVIDIA, Extended: true}},
		{"nvidia.com/gpu", "GPU-0" + id[:35], ID{Key: "gpu-0" + id[:35], Vendor: gpu.NVIDIA, Extended: true}},
		{"nvidia.com/gpu", "MIG-" + id, ID{Key: "mig-" + id, Vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "MIG-" + id + "-0", ID{Key: "mig-" + id + "-0", Vendor: gpu.NVIDIA, Extended: true}},
		{"nvidia.com/gpu", "MIG-GPU-" + id + "/1/0", ID{Key: "gpu-" + id + "/1/0", Vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "MIG-GPU-" + id + "/1", ID{Key: "mig-gpu-" + id + "/1", Vendor: gpu.NVIDIA, Extended: true}},
		{"nvidia.com/gpu", "MIG-GPU-" + id + "/1/x", ID{Key: "mig-gpu-" + id + "/1/x", Vendor: gpu.NVIDIA, Extended: true}},
		{"nvidia.com/gpu", "MIG-GPU-a/1/0", ID{Key: "mig-gpu-a/1/0", Vendor: gpu.NVIDIA, Extended: true}},
		{"x.io/y", "nvidia3/gi1", ID{Key: "nvidia3/gi1", Vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "nvidia3/gi1/vgpu2", ID{Key: "nvidia3/gi1", Vendor: gpu.NVIDIA, Sharing: gpu.SharingReplicas}},
		{"nvidia.com/gpu", "nvidia3/vgpu2/gi1", ID{Vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "nvidia", ID{Vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "0:1", ID{Vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu", "2", ID{Key: "index:2", Vendor: gpu.NVIDIA}},
		{"nvidia.com/GA102GL_A10", "2", ID{Vendor: gpu.NVIDIA}}, // an IOMMU group
		{"nvidia.com/gpu", "tegra", ID{Key: "tegra", Vendor: gpu.NVIDIA}},
		{"nvidia.com/gpu.shared", "tegra::3", ID{Key: "tegra", Vendor: gpu.NVIDIA, Sharing: gpu.SharingReplicas}},
		{"amd.com/gpu", "tegra", ID{Vendor: gpu.AMD}},
		{"amd.com/gpu", "2", ID{Vendor: gpu.AMD}},
		{"amd.com/gpu", "0000:1B:00.0-slice-3", ID{Key: "pci:0000:1b:00.0", Vendor: gpu.AMD, Sharing: gpu.SharingTimeSlicing}},
		{"x.io/y", "00010000:1b:00.0", ID{Key: "pci:00010000:1b:00.0"}},
		{"amd.com/gpu", "amdgpu_xcp_30", ID{Key: "amdgpu_xcp_30", Vendor: gpu.AMD}},
		{"vendor.io/fpga", "0", ID{}},
		{"", "", ID{}},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			assert.Equal(t, tt.want, ParsePluginID(tt.resource, tt.id))
		})
	}
}

func FuzzParsePluginID(f *testing.F) {
	for _, id := range []string{"GPU-a::1", "nvidia0/gi1/vgpu2", "0000:1b:00.0-slice-2", "amdgpu_xcp_1", "MIG-GPU-a/1/0", "GPU-01234567-89ab-cdef-0123-456789abcdef-3", "MIG-GPU-01234567-89ab-cdef-0123-456789abcdef/1/0", "7", "::", "-slice-"} {
		f.Add("nvidia.com/gpu", id)
	}
	f.Fuzz(func(t *testing.T, resource, id string) {
		got := ParsePluginID(resource, id)
		if rest, ok := strings.CutPrefix(got.Key, "index:"); ok {
			assert.Equal(t, gpu.NVIDIA, got.Vendor)
			assert.True(t, isNumber(rest))
		}
		if got.Extended {
			assert.Equal(t, gpu.NVIDIA, got.Vendor)
			assert.NotEmpty(t, got.Key)
		}
	})
}
