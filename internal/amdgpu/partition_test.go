// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestDivided: a GPU that is divided while the source runs.
func TestDivided(t *testing.T) {
	root := t.TempDir()
	whole := amdgpusim.MI300XCPX()
	whole.Cards[0].Compute = "SPX"
	whole.Cards[0].Partitions = whole.Cards[0].Partitions[:1]
	whole.Cards[0].Partitions[0].Memory = whole.Cards[0].Readings.VRAM
	whole.Processes = whole.Processes[:1]
	tree, err := amdgpusim.Write(filepath.Join(root, "1"), whole)
	require.NoError(t, err)
	source, err := New(Config{RootPath: tree.Root}, gpu.GroupAll)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, source.Close()) })
	node := read(t, source)
	require.Len(t, node.Devices, 1)
	assert.Equal(t, "SPX", node.Devices[0].Info.Profile)
	assert.Equal(t, []string{"card1", "renderD129"}, node.Devices[0].Aliases)
	require.Len(t, node.Processes, 1)
	assert.Equal(t, "a1b2c3d4e5f60000", node.Processes[0].DeviceID)

	divided, err := amdgpusim.Write(filepath.Join(root, "2"), amdgpusim.MI300XCPX())
	require.NoError(t, err)
	for _, name := range []string{"sys/devices/virtual/kfd/kfd/topology", "sys/devices/platform", "sys/class/drm"} {
		require.NoError(t, os.RemoveAll(tree.Path(name)))
		require.NoError(t, os.Rename(divided.Path(name), tree.Path(name)))
	}
	card := whole.Cards[0].Dir()
	require.NoError(t, os.WriteFile(tree.Path(card+"/current_compute_partition"), []byte("CPX\n"), 0o600))
	require.NoError(t, os.WriteFile(tree.Path("sys/devices/virtual/kfd/kfd/topology/generation_id"), []byte("3\n"), 0o600))
	node = read(t, source)
	require.Len(t, node.Devices, 9)
	assert.Equal(t, "CPX", node.Devices[0].Info.Profile)
	assert.Empty(t, node.Devices[0].Aliases, "the names are those of the first partition")
	for i := range 8 {
		p := &node.Devices[1+i]
		assert.Equal(t, "a1b2c3d4e5f60000", p.Parent)
		assert.Equal(t, gpu.Some(i), p.Index)
		assert.False(t, p.Power.Draw.Known(), "the package's")
		assert.False(t, p.Temperature[gpu.SensorHotspot].Known(), "the package's")
		assert.False(t, p.Energy.Known(), "the package's")
	}
	require.Len(t, node.Processes, 1)
	assert.Equal(t, "a1b2c3d4e5f60000/0", node.Processes[0].DeviceID)
	assert.Equal(t, [3]int64{1, 0, 0}, presence(node))
}

// TestNoTopology: in a container without the GPU's device nodes the kernel does not show the topology. The table tells how
// many partitions there are all the same.
func TestNoTopology(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI300XCPX(), withoutProcesses)
	require.NoError(t, os.RemoveAll(tree.Path("sys/class/kfd")))
	node := read(t, source)
	require.Len(t, node.Devices, 9)
	p := &node.Devices[4]
	assert.Equal(t, "a1b2c3d4e5f60000/3", p.ID)
	assert.Equal(t, gpu.Some(0.3), p.Utilization[gpu.TaskGeneral])
	assert.False(t, p.Memory.Limit.Known())
}

// TestOlderLocation: earlier drivers put the number of the partition where the PCI function would be.
func TestOlderLocation(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI300XCPX(), withoutProcesses)
	nodes := tree.Path("sys/devices/virtual/kfd/kfd/topology/nodes")
	for i := range 8 {
		file := filepath.Join(nodes, string(rune('1'+i)), "properties")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		text = append(text, []byte("location_id "+string(appendUint(nil, uint64(5<<8|i)))+"\n")...)
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	node := read(t, source)
	require.Len(t, node.Devices, 9)
	assert.Equal(t, gpu.Some[int64](8_000_000_000), node.Devices[8].Memory.Usage)
	assert.Equal(t, []string{"card8", "renderD136", "amdgpu_xcp_7"}, node.Devices[8].Aliases)
}

// TestOwnTable: newer drivers give each partition a table of its own.
func TestOwnTable(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI300XCPX(), withoutProcesses)
	dir := tree.Path("sys/devices/platform/amdgpu_xcp_3/xcp")
	require.NoError(t, os.MkdirAll(dir, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "xcp_metrics"), describing(1, 1, attributeGFXBusy, typeU32, 91), 0o600))
	require.NoError(t, os.MkdirAll(tree.Path("sys/devices/platform/amdgpu_xcp_4/xcp"), 0o750))
	require.NoError(t, os.WriteFile(tree.Path("sys/devices/platform/amdgpu_xcp_4/xcp/xcp_metrics"), []byte("what"), 0o600))
	node := read(t, source)
	assert.Equal(t, gpu.Some(0.91), node.Devices[4].Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.Some(0.4), node.Devices[5].Utilization[gpu.TaskGeneral], "its share of the GPU's table")
	assert.Equal(t, []string{"xcp_metrics"}, whats(node, "a1b2c3d4e5f60000"))
}
