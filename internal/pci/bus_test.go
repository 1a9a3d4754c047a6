// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// put writes the files of a function.
func put(t *testing.T, sys, address string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(sys, "bus/pci/devices", address)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "power"), 0o700))
	for name, text := range files {
		if target, ok := strings.CutPrefix(text, "->"); ok {
			_ = os.Remove(filepath.Join(dir, name))
			require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
			continue
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600))
	}
}

func function(t *testing.T, sys, address, vendor, class, driver string) {
	t.Helper()
	put(t, sys, address, map[string]string{"vendor": vendor, "class": class})
	if driver != "" {
		put(t, sys, address, map[string]string{"driver": "->../../../../bus/pci/drivers/" + driver})
	}
}

func display(class uint32) bool { return class>>8 == 0x0300 || class>>8 == 0x0302 }

func scan(t *testing.T, b *Bus) Functions {
	t.Helper()
	functions, err := b.Scan(false)
	require.NoError(t, err)
	return functions
}

func TestScan(t *testing.T) {
	sys := t.TempDir()
	function(t, sys, "0000:9b:00.0", "0x10de", "0x030200", "nvidia")
	function(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "")
	function(t, sys, "0000:1c:00.0", "0x10de", "0x030200", "vfio-pci")
	function(t, sys, "0000:1b:00.1", "0x10de", "0x040300", "snd_hda_intel")   // its sound
	function(t, sys, "0000:c1:00.0", "0x10de", "0x068000", "nvidia-nvswitch") // a bridge
	function(t, sys, "0000:03:00.0", "0x1002", "0x030000", "amdgpu")
	function(t, sys, "0000:9b:00.4", "0x10de", "0x030200", "nvidia") // a virtual function
	put(t, sys, "0000:9b:00.4", map[string]string{"physfn": "->../0000:9b:00.0"})
	put(t, sys, "0000:9b:00.0", map[string]string{"numa_node": "1"})
	put(t, sys, "0000:1b:00.0", map[string]string{"numa_node": "-1"})

	b := NewBus(sys, VendorNVIDIA, display)
	functions := scan(t, b)
	assert.Equal(t, Functions{
		{Address: "0000:1b:00.0"},
		{Address: "0000:1c:00.0", Driver: "vfio-pci"},
		{Address: "0000:9b:00.0", Driver: "nvidia", NUMANode: gpu.Some[int64](1)},
	}, functions)
	assert.False(t, functions.AllAsleep("nvidia"))
	for status, asleep := range map[string]bool{"suspended": true, "suspending": true, "resuming": true, "active": false, "error": false} {
		put(t, sys, "0000:9b:00.0", map[string]string{"power/control": "auto", "power/runtime_status": status})
		f, _ := scan(t, b).Find("0000:9b:00.0")
		assert.True(t, f.MaySleep)
		assert.Equal(t, asleep, f.Asleep, status)
		assert.Equal(t, asleep, scan(t, b).AllAsleep("nvidia"))
	}
	f, ok := functions.Find("0000:9b:00.0")
	assert.True(t, ok)
	assert.Equal(t, "nvidia", f.Driver)
	_, ok = functions.Find("0000:ff:00.0")
	assert.False(t, ok)
	assert.False(t, functions.Foreign("0000:1b:00.0", "nvidia"), "bound to none")
	assert.True(t, functions.Foreign("0000:1c:00.0", "nvidia"))
	assert.False(t, functions.Foreign("0000:9b:00.0", "nvidia"))
	assert.False(t, functions.Foreign("0000:ff:00.0", "nvidia"), "not on the bus")
	assert.False(t, functions.OtherDriver("nvidia"), "vfio-pci reserves it")
	assert.True(t, functions.OtherDriver("nouveau"))
	require.EqualError(t, functions.Locate(gpu.NVIDIA, os.ErrNotExist), "NVIDIA GPU at PCI address 0000:1b:00.0: file does not exist")
	require.EqualError(t, functions[1:].Locate(gpu.NVIDIA, os.ErrNotExist),
		"NVIDIA GPU at PCI address 0000:9b:00.0, bound to the kernel driver nvidia: file does not exist")
	assert.Equal(t, os.ErrNotExist, functions[1:2].Locate(gpu.NVIDIA, os.ErrNotExist), "reserved for a virtual machine")

	all, err := NewBus(sys, VendorAMD, func(class uint32) bool { return class>>16 == 3 }).Scan(false)
	require.NoError(t, err)
	assert.Equal(t, Functions{{Address: "0000:03:00.0", Driver: "amdgpu"}}, all)
}

func TestScanAgain(t *testing.T) {
	sys := t.TempDir()
	function(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "nvidia")
	b := NewBus(sys, VendorNVIDIA, display)
	first := scan(t, b)
	put(t, sys, "0000:1b:00.0", map[string]string{"driver": "->nouveau"})
	assert.True(t, scan(t, b).Foreign("0000:1b:00.0", "nvidia"), "drivers are read each time")
	assert.False(t, first.Foreign("0000:1b:00.0", "nvidia"), "what was returned stays as it was")
	function(t, sys, "0000:dd:00.0", "0x10de", "0x030200", "nvidia")
	assert.Len(t, scan(t, b), 2, "a new function")
	function(t, sys, "0000:dd:00.0", "0x1002", "0x030200", "nvidia")
	assert.Len(t, scan(t, b), 2)
	again, err := b.Scan(true)
	require.NoError(t, err)
	assert.Len(t, again, 1, "another function at the same address")
	require.NoError(t, os.RemoveAll(filepath.Join(sys, "bus/pci/devices/0000:1b:00.0")))
	assert.Empty(t, scan(t, b))
}

// A file that cannot be read is read again at the next scan.
func TestScanOfUnreadableFunction(t *testing.T) {
	sys := t.TempDir()
	function(t, sys, "0000:1b:00.0", "0x10de", "no number", "nvidia")
	put(t, sys, "0000:1c:00.0", map[string]string{"numa_node": "0"})
	b := NewBus(sys, VendorNVIDIA, display)
	assert.Empty(t, scan(t, b))
	function(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "")
	function(t, sys, "0000:1c:00.0", "0x10de", "0x030000"+strings.Repeat(" ", 1<<20), "")
	assert.Equal(t, Functions{{Address: "0000:1b:00.0", Driver: "nvidia"}, {Address: "0000:1c:00.0", NUMANode: gpu.Some[int64](0)}}, scan(t, b))
}

func TestScanWithoutBus(t *testing.T) {
	_, err := NewBus(t.TempDir(), VendorNVIDIA, display).Scan(false)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "pci: open ")

	sys := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(sys, "bus/pci/devices"), 0o700))
	functions, err := NewBus(sys, VendorNVIDIA, display).Scan(false)
	require.NoError(t, err)
	assert.Equal(t, Functions{}, functions, "a machine without PCI devices")
}
