// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"testing"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
)

// The words match the numbers of nvml.h.
func TestWords(t *testing.T) {
	for brand, want := range map[gonvml.BrandType]string{
		gonvml.BRAND_UNKNOWN: "", gonvml.BRAND_QUADRO: "quadro", gonvml.BRAND_TESLA: "tesla", gonvml.BRAND_NVIDIA_VWS: "nvidia_vws",
		gonvml.BRAND_QUADRO_RTX: "quadro_rtx", gonvml.BRAND_NVIDIA: "nvidia", gonvml.BRAND_GEFORCE_RTX: "geforce_rtx",
		gonvml.BRAND_TITAN_RTX: "titan_rtx", 99: "",
	} {
		assert.Equal(t, want, word(brands[:], int64(brand)))
	}
	for architecture, want := range map[uint32]string{
		gonvml.DEVICE_ARCH_KEPLER: "kepler", gonvml.DEVICE_ARCH_TURING: "turing", gonvml.DEVICE_ARCH_AMPERE: "ampere", gonvml.DEVICE_ARCH_ADA: "ada",
		gonvml.DEVICE_ARCH_HOPPER: "hopper", gonvml.DEVICE_ARCH_BLACKWELL: "blackwell", gonvml.DEVICE_ARCH_RUBIN: "rubin", gonvml.DEVICE_ARCH_UNKNOWN: "",
	} {
		assert.Equal(t, want, word(architectures[:], int64(architecture)))
	}
	assert.Equal(t, "exclusive_process", computeModes[gonvml.COMPUTEMODE_EXCLUSIVE_PROCESS])
	assert.Equal(t, "prohibited", computeModes[gonvml.COMPUTEMODE_PROHIBITED])
	assert.Equal(t, "vgpu", virtualizationModes[gonvml.GPU_VIRTUALIZATION_MODE_VGPU])
	assert.Equal(t, "host_vsga", virtualizationModes[gonvml.GPU_VIRTUALIZATION_MODE_HOST_VSGA])
	assert.Equal(t, "enabled", enableStates[gonvml.FEATURE_ENABLED])
	assert.Empty(t, word(enableStates[:], -1))
}
