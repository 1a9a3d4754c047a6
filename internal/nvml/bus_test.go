// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func writeFile(tb testing.TB, path, text string) {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o600))
}

func pciDevice(tb testing.TB, sys, address, vendor, class, driver string) {
	tb.Helper()
	dir := filepath.Join(sys, "bus/pci/devices", address)
	writeFile(tb, filepath.Join(dir, "vendor"), vendor+"\n")
	writeFile(tb, filepath.Join(dir, "class"), class+"\n")
	link := filepath.Join(dir, "driver")
	_ = os.Remove(link)
	if driver != "" {
		require.NoError(tb, os.Symlink("../../../../bus/pci/drivers/"+driver, link))
	}
}

func TestBus(t *testing.T) {
	sys := t.TempDir()
	pciDevice(t, sys, "0000:9b:00.0", "0x10de", "0x030200", "nvidia")
	pciDevice(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "")
	pciDevice(t, sys, "0000:1c:00.0", "0x10de", "0x030200", "vfio-pci")
	pciDevice(t, sys, "0000:1b:00.1", "0x10de", "0x040300", "snd_hda_intel") // its sound
	pciDevice(t, sys, "0000:c1:00.0", "0x10de", "0x068000", "nvidia-nvswitch")
	writeFile(t, filepath.Join(sys, "bus/pci/devices/0000:9b:00.0/numa_node"), "1\n")
	writeFile(t, filepath.Join(sys, "bus/pci/devices/0000:1b:00.0/numa_node"), "-1\n")

	b := newBus(sys, time.Hour)
	b.scan(t.Context(), false)
	functions, listed := b.functions()
	assert.True(t, listed)
	assert.Len(t, functions, 3)
	assert.False(t, b.foreign("0000:1b:00.0"))
	assert.True(t, b.foreign("0000:1c:00.0"))
	assert.False(t, b.foreign("0000:9b:00.0"))
	assert.False(t, b.foreign("0000:ff:00.0"), "not there")
	assert.False(t, b.lacks("0000:ff:00.0"), "never listed: the bus of a simulated GPU, say")
	assert.False(t, b.lacks("0000:1b:00.0"))
	assert.False(t, b.lacks(""), "its address is not known")
	assert.Equal(t, gpu.Some[int64](1), b.numaNode("0000:9b:00.0"))
	assert.False(t, b.numaNode("0000:1b:00.0").Known())
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{gpu.Missing: gpu.Some[int64](2), gpu.Unmanaged: gpu.Some[int64](1)}, b.presence())

	// A driver and a GPU that were added are seen at the next scan.
	pciDevice(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "nouveau")
	pciDevice(t, sys, "0000:dd:00.0", "0x10de", "0x030200", "nvidia")
	b.scan(t.Context(), false)
	assert.True(t, b.foreign("0000:1b:00.0"))
	assert.False(t, b.lacks("0000:dd:00.0"))

	require.NoError(t, os.RemoveAll(filepath.Join(sys, "bus/pci/devices/0000:dd:00.0")))
	b.scan(t.Context(), false)
	assert.True(t, b.lacks("0000:dd:00.0"))
}

func TestBusThatCannotBeListed(t *testing.T) {
	b := newBus(t.TempDir(), time.Hour)
	b.scan(t.Context(), false)
	_, listed := b.functions()
	assert.False(t, listed)
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, b.presence())
	assert.False(t, b.foreign("0000:1b:00.0"))
	assert.False(t, b.lacks("0000:1b:00.0"))
	assert.False(t, b.numaNode("0000:1b:00.0").Known())
}
