// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestVendorOf(t *testing.T) {
	for name, want := range map[string]gpu.Vendor{
		"nvidia.com/gpu": gpu.NVIDIA, "gpu.nvidia.com": gpu.NVIDIA, "amd.com/gpu": gpu.AMD, "gpu.amd.com": gpu.AMD,
		"tencent.com/vcuda-core": gpu.NVIDIA, "tencent.com/eni-ip": "", DriverHAMi: gpu.NVIDIA, "iluvatar.ai/vcuda-core": "",
		"notnvidia.com/gpu": "", "nvidia.com.evil.io/x": "", "intel.com/gpu": "",
	} {
		assert.Equal(t, want, VendorOf(name), name)
	}
}

func TestIsGPUResource(t *testing.T) {
	for _, name := range []string{
		"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "amd.com/gpu", "amd.com/cpx_nps4", "amd.com/spx_nps1",
		"amd.com/dpx_nps1", "amd.com/tpx_nps1", "amd.com/qpx_nps1",
	} {
		assert.True(t, IsGPUResource(name), name)
		assert.True(t, IsPhysical(name), name)
	}
	for _, name := range []string{
		"nvidia.com/GRID_P40-1Q", "nvidia.com/NVIDIA_A10-12Q", "amd.com/gpu_vf", "amd.com/gpu_pf", "tencent.com/vcuda-core", "tencent.com/vcuda-memory",
	} {
		assert.True(t, IsGPUResource(name), name)
		assert.False(t, IsPhysical(name), name)
	}
	for _, name := range []string{"nvidia.com/hostdev", "nvidia.com/GA102GL_A10", "amd.com/nic", "amd.com/GRID_x", "tencent.com/eni-ip", "example.com/gpu", "gpu", ""} {
		assert.False(t, IsGPUResource(name), name)
	}
}

func TestIsMPSServer(t *testing.T) {
	assert.True(t, IsMPSServer("nvidia-cuda-mps-server"))
	assert.True(t, IsMPSServer("nvidia-cuda-mps")) // the kernel cuts names to 15 characters
	assert.False(t, IsMPSServer("python"))
}
