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

// pciDevice puts a function on a PCI bus, or binds one that is there to another driver.
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

func TestPCIBus(t *testing.T) {
	sys := t.TempDir()
	pciDevice(t, sys, "0000:9b:00.0", "0x10de", "0x030200", "nvidia")
	pciDevice(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "")
	pciDevice(t, sys, "0000:1c:00.0", "0x10de", "0x030200", "vfio-pci")
	pciDevice(t, sys, "0000:1b:00.1", "0x10de", "0x040300", "snd_hda_intel") // its sound
	pciDevice(t, sys, "0000:c1:00.0", "0x10de", "0x068000", "nvidia-nvswitch")
	pciDevice(t, sys, "0000:03:00.0", "0x1002", "0x030000", "amdgpu")
	pciDevice(t, sys, "0000:9b:00.4", "0x10de", "0x030200", "nvidia") // a slice for a virtual machine
	require.NoError(t, os.Symlink("../0000:9b:00.0", filepath.Join(sys, "bus/pci/devices/0000:9b:00.4/physfn")))

	bus := pciBus{root: sys}
	now := time.Now()
	bus.look(now, false)
	assert.Equal(t, []pciFunction{
		{"0000:1b:00.0", ""}, {"0000:1c:00.0", "vfio-pci"}, {"0000:9b:00.0", "nvidia"},
	}, bus.functions)
	assert.False(t, bus.foreign("0000:1b:00.0"))
	assert.True(t, bus.foreign("0000:1c:00.0"))
	assert.False(t, bus.foreign("0000:9b:00.0"))
	assert.False(t, bus.foreign("0000:ff:00.0"), "not there")
	p := bus.presence()
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{gpu.Some[int64](0), gpu.Some[int64](2), gpu.Some[int64](1)}, p)

	// What a GPU is bound to is seen at once, a new GPU after a while or where it matters.
	pciDevice(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "nouveau")
	pciDevice(t, sys, "0000:dd:00.0", "0x10de", "0x030200", "nvidia")
	bus.look(now.Add(time.Second), false)
	assert.True(t, bus.foreign("0000:1b:00.0"))
	assert.Len(t, bus.functions, 3)
	bus.look(now.Add(rescanInterval), false)
	assert.Len(t, bus.functions, 4)
	pciDevice(t, sys, "0000:de:00.0", "0x10de", "0x030200", "nvidia")
	bus.look(now.Add(rescanInterval), true)
	assert.Len(t, bus.functions, 5)
}

func TestPCIBusThatCannotBeRead(t *testing.T) {
	bus := pciBus{root: t.TempDir()}
	bus.look(time.Now(), false)
	assert.False(t, bus.known)
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, bus.presence())
	assert.False(t, bus.foreign("0000:1b:00.0"))
	assert.Empty(t, bus.numaNode("0000:1b:00.0"))
}
