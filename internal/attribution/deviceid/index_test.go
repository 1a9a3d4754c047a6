// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const testUUID = "GPU-01234567-89AB-cdef-0123-456789abcdef"

func migInstance(id string, gi, ci int) gpu.Device {
	return gpu.Device{ID: id, Vendor: gpu.NVIDIA, Parent: testUUID, GPUInstance: gpu.Some(gi), ComputeInstance: gpu.Some(ci)}
}

// A node of an NVIDIA GPU with MIG instances and a whole GPU. The keys of the first GPU represent its instances.
func TestIndexNVIDIA(t *testing.T) {
	x := NewIndex([]gpu.Device{
		{ID: testUUID, Name: "nvidia3", Vendor: gpu.NVIDIA, Index: gpu.Some(0), Info: gpu.Info{PCIAddress: "0000:1b:00.0"}},
		migInstance("MIG-a", 1, 0), migInstance("MIG-b", 1, 1), migInstance("MIG-c", 2, 0),
		{ID: "GPU-b", Name: "nvidia0", Vendor: gpu.NVIDIA, Index: gpu.Some(1), Info: gpu.Info{PCIAddress: "00010000:1b:00.0"}},
	})
	for key, want := range map[string][]int{
		"gpu-01234567-89ab-cdef-0123-456789abcdef": {1, 2, 3},
		"nvidia3":          {1, 2, 3},
		"index:0":          {1, 2, 3},
		"pci:0000:1b:00.0": {1, 2, 3},
		"nvidia3/gi1":      {1, 2},
		"nvidia3/gi1/ci1":  {2},
		"gpu-01234567-89ab-cdef-0123-456789abcdef/2/0": {3},
		"mig-c":                {3},
		"gpu-b":                {4},
		"nvidia0":              {4},
		"index:1":              {4},
		"pci:00010000:1b:00.0": {4},
		"nvidia1":              nil,
		"":                     nil,
	} {
		assert.Equal(t, want, x.Find(key), key)
	}
	assert.Equal(t, []int{1, 2, 3}, x.Leaves(0))
	for i, want := range []bool{false, true, true, true, true} {
		assert.Equal(t, want, x.IsLeaf(i), i)
		assert.True(t, x.IsNamed(i), i)
	}
	assert.True(t, x.SharesMemory(1))
	assert.True(t, x.SharesMemory(2))
	assert.False(t, x.SharesMemory(3))
	i, ok := x.ByID("MIG-b")
	assert.Equal(t, 2, i)
	assert.True(t, ok)
}

// On AMD the PCI address of a partitioned GPU belongs to its first partition.
func TestIndexAMD(t *testing.T) {
	partition := func(id string, number int, alias string) gpu.Device {
		return gpu.Device{ID: id, Vendor: gpu.AMD, Parent: "ab", Partition: gpu.Some(number), Info: gpu.Info{PCIAddress: "0000:1b:00.0"}, Aliases: []string{alias}}
	}
	whole := gpu.Device{ID: "ab", Name: "card1", Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: "0000:1b:00.0"}}
	x := NewIndex([]gpu.Device{whole, partition("ab/1", 1, "amdgpu_xcp_1"), partition("ab/0", 0, "renderD128")})
	assert.Equal(t, []int{2}, x.Find("pci:0000:1b:00.0"))
	assert.Equal(t, []int{1}, x.Find("amdgpu_xcp_1"))
	assert.Equal(t, []int{2}, x.Find("renderD128"))
	assert.Equal(t, []int{1, 2}, x.Find("card1"))

	x = NewIndex([]gpu.Device{whole, partition("ab/1", 1, "amdgpu_xcp_1")})
	assert.Equal(t, []int{1}, x.Find("pci:0000:1b:00.0"), "the first that is there")
	x = NewIndex([]gpu.Device{whole})
	assert.Equal(t, []int{0}, x.Find("pci:0000:1b:00.0"))
}

// Whether all names of a device are known.
func TestIsNamed(t *testing.T) {
	named := gpu.Device{ID: testUUID, Name: "nvidia0", Vendor: gpu.NVIDIA}
	noNode := gpu.Device{ID: testUUID, Vendor: gpu.NVIDIA, Index: gpu.Some(0)}
	for name, tt := range map[string]struct {
		devices []gpu.Device
		want    bool // of the last
	}{
		"GPU":                              {[]gpu.Device{named}, true},
		"device node unknown":              {[]gpu.Device{noNode}, false},
		"never read":                       {[]gpu.Device{{ID: "n1/0000:12:00.0", Vendor: gpu.NVIDIA}}, false},
		"instance":                         {[]gpu.Device{named, migInstance("MIG-a", 1, 0)}, true},
		"instance without UUID":            {[]gpu.Device{named, {ID: testUUID + "/1/0", Vendor: gpu.NVIDIA, Parent: testUUID}}, false},
		"instance without numbers":         {[]gpu.Device{named, {ID: "MIG-a", Vendor: gpu.NVIDIA, Parent: testUUID}}, false},
		"instance of a GPU without a node": {[]gpu.Device{noNode, migInstance("MIG-a", 1, 0)}, false},
		"instance of an unknown GPU":       {[]gpu.Device{migInstance("MIG-a", 1, 0)}, false},
		"AMD":                              {[]gpu.Device{{ID: "n1/0000:12:00.0", Vendor: gpu.AMD}}, true},
		"another vendor":                   {[]gpu.Device{{ID: "x", Info: gpu.Info{PCIAddress: "0000:12:00.0"}}}, true},
	} {
		assert.Equal(t, tt.want, NewIndex(tt.devices).IsNamed(len(tt.devices)-1), name)
	}
}

// A Jetson's UUID has no prefix. Its GPU is the one that NVIDIA's plugin calls tegra.
func TestIndexJetson(t *testing.T) {
	x := NewIndex([]gpu.Device{{ID: testUUID[len("GPU-"):], Name: "nvidia0", Vendor: gpu.NVIDIA}})
	assert.Equal(t, []int{0}, x.Find("tegra"))
}
