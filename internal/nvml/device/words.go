// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

// brands are the values of nvmlBrandType_t.
var brands = [...]string{
	1: "quadro", 2: "tesla", 3: "nvs", 4: "grid", 5: "geforce", 6: "titan", 7: "nvidia_vapps", 8: "nvidia_vpc", 9: "nvidia_vcs", 10: "nvidia_vws",
	11: "nvidia_cloud_gaming", 12: "quadro_rtx", 13: "nvidia_rtx", 14: "nvidia", 15: "geforce_rtx", 16: "titan_rtx",
}

// architectures are the values of nvmlDeviceArchitecture_t.
var architectures = [...]string{
	2: "kepler", 3: "maxwell", 4: "pascal", 5: "volta", 6: "turing", 7: "ampere", 8: "ada", 9: "hopper", 10: "blackwell", 13: "rubin",
}

// computeModes are the values of nvmlComputeMode_t.
var computeModes = [...]string{"default", "exclusive_thread", "prohibited", "exclusive_process"}

// virtualizationModes are the values of nvmlGpuVirtualizationMode_t.
var virtualizationModes = [...]string{"none", "pass_through", "vgpu", "host_vgpu", "host_vsga"}

// enableStates are the values of nvmlEnableState_t.
var enableStates = [...]string{"disabled", "enabled"}

// word returns the word for a value; empty if there is none.
func word(words []string, value int64) string {
	if value < 0 || value >= int64(len(words)) {
		return ""
	}
	return words[value]
}
