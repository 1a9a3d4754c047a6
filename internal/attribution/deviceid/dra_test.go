// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestAttributeKeys(t *testing.T) {
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
		assert.Equal(t, tt.want, AttributeKeys(tt.attributes), tt.name)
	}
}

func TestNameKeys(t *testing.T) {
	nvidia := func(name string, index gpu.Opt[int]) gpu.Device {
		return gpu.Device{ID: "GPU-" + name, Name: name, Vendor: gpu.NVIDIA, Index: index}
	}
	x := NewIndex([]gpu.Device{
		nvidia("nvidia1", gpu.Some(0)), nvidia("nvidia0", gpu.Some(1)), nvidia("nvidia2", gpu.Some(2)), nvidia("nvidia3", gpu.Opt[int]{}),
	})
	for _, tt := range []struct {
		driver, device string
		want           []string
	}{
		{DriverNVIDIA, "gpu-2", []string{"nvidia2"}},
		{DriverNVIDIA, "gpu-3", []string{"nvidia3"}},
		{DriverNVIDIA, "gpu-1", nil}, // by device node it is the first GPU, by index the second
		{DriverNVIDIA, "gpu-x", nil},
		{DriverNVIDIA, "2", nil},
		{DriverAMD, "gpu-1-129", []string{"renderD129", "card1"}},
		{DriverAMD, "gpu-1", nil},
		{DriverAMD, "gpu-x-129", nil},
		{DriverAMD, "gpu-1-x", nil},
		{"gpu.example.com", "gpu-2", nil},
		{DriverHAMi, "hami-gpu-1", []string{"nvidia1"}}, // by device node alone
		{DriverHAMi, "hami-gpu-x", nil},
		{DriverHAMi, "gpu-1", nil},
		{DriverNVIDIA, "hami-gpu-1", nil},
	} {
		assert.Equal(t, tt.want, NameKeys(tt.driver, tt.device, x), "%s %s", tt.driver, tt.device)
	}
}

func TestIsPassedThrough(t *testing.T) {
	assert.False(t, IsPassedThrough(DriverAMD, "gpu-1"))
	assert.True(t, IsPassedThrough(DriverNVIDIA, "gpu-vfio-1"))
	assert.True(t, IsPassedThrough(DriverHAMi, "gpu-vfio-1"))
	assert.False(t, IsPassedThrough("gpu.example.com", "gpu-vfio-1"))
}

func TestIsGPUDriver(t *testing.T) {
	for name, want := range map[string]bool{
		DriverNVIDIA: true, DriverAMD: true, DriverHAMi: true, "compute-domain.nvidia.com": false, "dra.net": false, "": false,
	} {
		assert.Equal(t, want, IsGPUDriver(name), name)
	}
}

func TestCDIKey(t *testing.T) {
	const uuid = "8b8b1f3c-6f9e-4b52-9c65-0a5b8e2f3d11"
	for name, want := range map[string]string{
		"nvidia.com/gpu=GPU-" + uuid:                "gpu-" + uuid,
		"nvidia.com/mig=MIG-" + uuid:                "mig-" + uuid,
		"k8s.gpu.nvidia.com/claim=c1-GPU-" + uuid:   "gpu-" + uuid,
		"nvidia.com/gpu=0":                          "",
		"nvidia.com/gpu=GPU-short":                  "",
		"GPU-" + uuid:                               "",
		"k8s.gpu.nvidia.com/device=" + uuid + "gpu": "",
	} {
		assert.Equal(t, want, CDIKey(name), name)
	}
}
