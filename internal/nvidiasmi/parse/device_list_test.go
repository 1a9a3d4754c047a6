// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	assert.Equal(t, []ListedGPU{
		{Index: 0, Name: "NVIDIA A100-SXM4-80GB", UUID: "GPU-53500000-0000-4000-8000-000000000001", MIGDevices: []ListedMIGDevice{
			{Index: 0, Profile: "3g.40gb", UUID: "MIG-53500000-aaaa-5000-8000-000000000001"},
			{Index: 1, Profile: "1g.20gb", UUID: "MIG-53500000-aaaa-5000-8000-000000000002"},
		}},
		{Index: 1, Name: "NVIDIA A100-SXM4-80GB", UUID: "GPU-53500000-0000-4000-8000-000000000002"},
	}, DeviceList(testdata(t, "list/mig.txt")))
	compute := DeviceList(testdata(t, "list/compute-instances.txt"))
	require.Len(t, compute, 1)
	assert.Equal(t, "1c.3g.71gb", compute[0].MIGDevices[0].Profile)
	assert.Equal(t, "1g.18gb+me", compute[0].MIGDevices[2].Profile)
}

func TestTrapLegacyMIGIdentity(t *testing.T) {
	listed := DeviceList(testdata(t, "list/450-mig.txt"))
	require.Len(t, listed, 1)
	assert.Equal(t, []ListedMIGDevice{{Index: 0, Profile: "1g.5gb"}}, listed[0].MIGDevices)
}

func TestTrapListWithALostGPU(t *testing.T) {
	listed := DeviceList(testdata(t, "list/lost.txt"))
	require.Len(t, listed, 2)
	assert.Equal(t, 2, listed[1].Index)
}

func TestListGarbage(t *testing.T) {
	for _, s := range []string{
		"", "GPU", "GPU 0", "GPU x: A (UUID: GPU-1)", "  MIG 1g.5gb Device 0: (UUID: MIG-1)", "GPU -1: A (UUID: GPU-1)", "No devices were found",
	} {
		assert.Empty(t, DeviceList([]byte(s)), s)
	}
	listed := DeviceList([]byte("GPU 0: A (UUID: GPU-1)\n  MIG 1g.5gb Device x: (UUID: MIG-1)\n  MIG\n  MIG a b c: (UUID: MIG-2)\n"))
	require.Len(t, listed, 1)
	assert.Empty(t, listed[0].MIGDevices)
}
