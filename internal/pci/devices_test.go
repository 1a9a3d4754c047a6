// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/pci/pcitest"
)

func TestDevices(t *testing.T) {
	sys := pcitest.New(t, t.TempDir())
	sys.Function("0000:41:00.0", "0x10de", "0x030200", "nvidia")
	sys.Function("0000:41:00.4", "0x10de", "0x030200", "nvidia")
	sys.Virtual("0000:41:00.4", "0000:41:00.0")
	sys.Function("0000:42:00.0", "0x10de", "0x030200", "vfio-pci")
	sys.Function("0000:43:00.0", "0x10de", "0x030200", "nvgrace-gpu-vfio-pci")
	sys.Function("0000:44:00.0", "0x1002", "0x120000", "")
	sys.Function("0000:44:02.0", "0x1002", "0x038000", "vfio-pci")
	sys.Virtual("0000:44:02.0", "0000:44:00.0")
	sys.Function("0000:45:00.0", "0x15b3", "0x020700", "mlx5_core")
	sys.Function("0000:46:00.0", "0x1da3", "0x120000", "habanalabs")
	sys.DRM("card1", "0000:44:00.0")
	sys.VFIO("vfio3", "0000:42:00.0")
	devices := NewDevices(sys.Root)

	for address, want := range map[string]struct {
		properties         Properties
		gpu, passedThrough bool
	}{
		"0000:41:00.0": {Properties{Vendor: VendorNVIDIA, Class: 0x030200, Driver: "nvidia"}, true, false},
		"0000:41:00.4": {Properties{Vendor: VendorNVIDIA, Class: 0x030200, Driver: "nvidia", Physical: "0000:41:00.0"}, true, false},
		"0000:42:00.0": {Properties{Vendor: VendorNVIDIA, Class: 0x030200, Driver: "vfio-pci"}, true, true},
		"0000:43:00.0": {Properties{Vendor: VendorNVIDIA, Class: 0x030200, Driver: "nvgrace-gpu-vfio-pci"}, true, true},
		"0000:44:00.0": {Properties{Vendor: VendorAMD, Class: 0x120000}, true, false},
		"0000:44:02.0": {Properties{Vendor: VendorAMD, Class: 0x038000, Driver: "vfio-pci", Physical: "0000:44:00.0"}, true, true},
		"0000:45:00.0": {Properties{Vendor: 0x15b3, Class: 0x020700, Driver: "mlx5_core"}, false, false},
		"0000:46:00.0": {Properties{Vendor: 0x1da3, Class: 0x120000, Driver: "habanalabs"}, false, false},
	} {
		got, err := devices.Function(address)
		require.NoError(t, err, address)
		assert.Equal(t, want.properties, got, address)
		assert.Equal(t, want.gpu, got.IsGPU(), address)
		assert.Equal(t, want.passedThrough, got.PassedThrough(), address)
	}
	_, err := devices.Function("0000:99:00.0")
	require.ErrorIs(t, err, fs.ErrNotExist)

	assert.Equal(t, "0000:44:00.0", devices.DisplayFunction("card1"))
	assert.Empty(t, devices.DisplayFunction("card2"))
	assert.Equal(t, "0000:42:00.0", devices.VFIODevice("vfio3"))
	assert.Empty(t, devices.VFIODevice("vfio4"))
}

func TestMediatedParent(t *testing.T) {
	const uuid = "4b20d080-1b54-4048-85b3-a6a62d165c01"
	sys := pcitest.New(t, t.TempDir())
	devices := NewDevices(sys.Root)
	_, err := devices.MediatedParent(uuid)
	require.ErrorIs(t, err, fs.ErrNotExist)

	sys.Mediated(uuid, "0000:41:00.4")
	parent, err := devices.MediatedParent(uuid)
	require.NoError(t, err)
	assert.Equal(t, "0000:41:00.4", parent)
}

func TestGroup(t *testing.T) {
	sys := pcitest.New(t, t.TempDir())
	sys.Group("7", "0000:41:00.0", "0000:41:00.1")
	devices := NewDevices(sys.Root)
	names, err := devices.Group("7")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"0000:41:00.0", "0000:41:00.1"}, names)

	_, err = devices.Group("8")
	require.ErrorIs(t, err, fs.ErrNotExist)

	require.NoError(t, os.MkdirAll(filepath.Join(sys.Root, "kernel/iommu_groups/9/devices"), 0o700))
	names, err = devices.Group("9")
	require.NoError(t, err)
	assert.Empty(t, names)
}

// An invalid class is an error, not a device of another kind.
func TestFunctionGarbage(t *testing.T) {
	sys := pcitest.New(t, t.TempDir())
	sys.Function("0000:41:00.0", "0x10de", "garbage", "nvidia")
	_, err := NewDevices(sys.Root).Function("0000:41:00.0")
	require.Error(t, err)
	require.NotErrorIs(t, err, fs.ErrNotExist)
}
