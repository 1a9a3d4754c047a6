// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestIdentityRefused: while the driver resets a GPU, it refuses the file with its unique id. The GPU, its partitions and its processes
// then have no ID until the reset is over.
func TestIdentityRefused(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.MI300XCPX(), gpu.GroupAll)
	var files refusals
	files.refuse.Store("unique_id", syscall.EPERM)
	source.readFile = files.read
	for range 3 {
		node := read(t, source)
		require.Len(t, node.Devices, 9)
		assert.Empty(t, node.Devices[0].ID)
		assert.Empty(t, node.Devices[4].ID)
		assert.Equal(t, gpu.Some(3), node.Devices[4].Partition)
		assert.Empty(t, node.Devices[4].Parent)
		assert.Empty(t, node.Processes[1].DeviceID)
		assert.Equal(t, gpu.Location{PCIAddress: "0000:05:00.0", Partition: gpu.Some(3)}, node.Processes[1].Location)
		assert.Empty(t, node.Devices[0].Faults)
		assert.Equal(t, "692305000017", node.Devices[0].Info.Serial, "one file costs no other")
		require.Equal(t, []string{"identity"}, whats(node, "0000:05:00.0"), "reported while it lasts")
		require.ErrorIs(t, node.Problems[0].Err, syscall.EPERM)
		require.ErrorContains(t, node.Problems[0].Err, "amdgpu: 0000:05:00.0: read unique_id: operation not permitted")
		require.ErrorContains(t, node.Problems[0].Err, "while it resets the GPU")
	}
	files.refuse.Clear()
	for range 2 {
		files.forget()
		node := read(t, source)
		require.Len(t, node.Devices, 9)
		assert.Equal(t, "a1b2c3d4e5f60000", node.Devices[0].ID)
		assert.Equal(t, "a1b2c3d4e5f60000/3", node.Devices[4].ID)
		assert.Equal(t, "a1b2c3d4e5f60000", node.Devices[4].Parent)
		assert.Equal(t, "a1b2c3d4e5f60000/3", node.Processes[1].DeviceID)
		assert.Empty(t, node.Problems)
		assert.False(t, files.wasRead("serial_number"), "it has answered")
	}
	assert.False(t, files.wasRead("unique_id"), "it has answered")
}

// TestIdentityInParts: each file of the identity is read until it answers, and what was read stays.
func TestIdentityInParts(t *testing.T) {
	m := amdgpusim.MI100()
	m.Cards = m.Cards[:1]
	m.Cards[0].Product = "A GPU of the test"
	tree, source, _ := simulate(t, m, withoutProcesses)
	require.NoError(t, os.MkdirAll(tree.Path("usr/share/libdrm"), 0o750))
	require.NoError(t, os.WriteFile(tree.Path("usr/share/libdrm/amdgpu.ids"), []byte(
		"738C,\t00,\tOf another revision\n738C,\t01,\tOf this revision\n"), 0o600))
	var files refusals
	source.readFile = files.read
	all := []string{
		"unique_id", "serial_number", "vbios_version", "numa_node", "product_name", "device", "revision", "mem_info_vram_total",
	}
	for _, name := range all {
		files.refuse.Store(name, syscall.EIO)
	}
	d := read(t, source).Devices[0]
	assert.Empty(t, d.ID)
	assert.Empty(t, d.Model)
	assert.Empty(t, d.Info.Serial+d.Info.FirmwareVersion)
	assert.False(t, d.Info.NUMANode.Known())
	for i, step := range []struct{ file, model string }{
		{"device", "AMD Instinct MI100"},
		{"revision", "Of this revision"},
		{"product_name", "A GPU of the test"},
		{"mem_info_vram_total", "A GPU of the test"},
		{"numa_node", "A GPU of the test"},
		{"vbios_version", "A GPU of the test"},
		{"serial_number", "A GPU of the test"},
		{"unique_id", "A GPU of the test"},
	} {
		files.refuse.Delete(step.file)
		node := read(t, source)
		d = node.Devices[0]
		assert.Equal(t, step.model, d.Model, step.file)
		assert.Equal(t, len(all)-1-i, count(whats(node, cmp.Or(d.ID, d.Info.PCIAddress)), "identity"), step.file)
	}
	assert.Equal(t, "3a51e0c2d4b70010", d.ID)
	assert.Equal(t, "692201000140", d.Info.Serial)
	assert.Equal(t, "113-D3431500-100", d.Info.FirmwareVersion)
	assert.Equal(t, gpu.Some[int64](0), d.Info.NUMANode)
	assert.Equal(t, gpu.Some[int64](34342961152), d.Memory.Limit)
}

func count(words []string, word string) int {
	n := 0
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
}

// TestNoIdentity: a GPU that does not support such files is queried for them once. Files that do not exist are looked for a second time,
// because the driver may not have created them yet.
func TestNoIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		reads  int
	}{"no file": {syscall.ENOENT, 2}, "not supported": {syscall.EOPNOTSUPP, 1}} {
		t.Run(name, func(t *testing.T) {
			_, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
			var files refusals
			identity := []string{"unique_id", "serial_number", "vbios_version", "product_name"}
			for _, name := range identity {
				files.refuse.Store(name, tt.answer)
			}
			source.readFile = files.read
			for i := range 4 {
				files.forget()
				node := read(t, source)
				assert.Empty(t, node.Devices[0].ID)
				assert.Empty(t, node.Problems)
				for _, name := range identity {
					assert.Equal(t, i < tt.reads, files.wasRead(name), name)
				}
			}
		})
	}
}

// TestIdentityOfAnother: a GPU that replaces another does not inherit its identity.
func TestIdentityOfAnother(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	assert.Equal(t, "3a51e0c2d4b70010", read(t, source).Devices[0].ID)
	unplug(t, tree, m.Cards[0], true)
	read(t, source)
	other := amdgpusim.MI100().Cards[0]
	other.UniqueID, other.Serial = 0x77, ""
	plug(t, tree, other)
	var files refusals
	files.refuse.Store("unique_id", syscall.EPERM)
	source.readFile = files.read
	d := &read(t, source).Devices[0]
	assert.Empty(t, d.ID)
	assert.Empty(t, d.Info.Serial)
	files.refuse.Clear()
	assert.Equal(t, "0000000000000077", read(t, source).Devices[0].ID)
}

// TestDriverVersionRefused: the kernel's release is the driver's version only if the driver has no version of its own.
func TestDriverVersionRefused(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	version := tree.Path("sys/module/amdgpu/version")
	require.NoError(t, os.Remove(version))
	require.NoError(t, os.Mkdir(version, 0o750)) // to read it is an error
	node := read(t, source)
	assert.Empty(t, node.Devices[0].Info.DriverVersion)
	assert.Equal(t, []string{"identity"}, whats(node, node.Devices[0].ID))
	require.NoError(t, os.Remove(version))
	require.NoError(t, os.WriteFile(version, []byte("6.8.5\n"), 0o600))
	node = read(t, source)
	assert.Equal(t, "6.8.5", node.Devices[0].Info.DriverVersion)
	assert.Empty(t, node.Problems)
}

// TestPlaceholderOfVBIOS: a board whose VBIOS has no version reports a placeholder.
func TestPlaceholderOfVBIOS(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].VBIOS = "xxx-xxx-xxx"
	_, source, _ := simulate(t, m, withoutProcesses)
	node := read(t, source)
	assert.Empty(t, node.Devices[0].Info.FirmwareVersion)
	assert.Empty(t, node.Problems)
}
