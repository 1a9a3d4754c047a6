// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestDivided: a GPU is divided while the source runs.
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

// TestNoTopology: in a container without the GPU's device nodes the kernel does not show the topology. The number of partitions then
// comes from the table.
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

// repeated returns a machine whose compute driver repeats the GPU's memory usage for each partition.
func repeated(m *amdgpusim.Machine, used int64) *amdgpusim.Machine {
	for i := range m.Cards[0].Partitions {
		m.Cards[0].Partitions[i].Used = used
	}
	return m
}

// TestRepeatedUsage: an MI308 in CPX, whose compute driver repeats the GPU's memory usage for each partition. No partition has a usage of its own.
func TestRepeatedUsage(t *testing.T) {
	m := repeated(amdgpusim.MI300XCPX(), 2907979776)
	m.Cards[0].Readings.VRAMUsed = 2907979776
	_, source, _ := simulate(t, m, withoutProcesses)
	node := read(t, source)
	require.Len(t, node.Devices, 9)
	assert.Equal(t, gpu.Some[int64](2907979776), node.Devices[0].Memory.Usage)
	for i := range 8 {
		assert.True(t, node.Devices[1+i].Memory.Limit.Known())
		assert.False(t, node.Devices[1+i].Memory.Usage.Known())
	}
}

// TestOlderLocation: earlier drivers put the number of the partition in the place of the PCI function.
func TestOlderLocation(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI300XCPX(), withoutProcesses)
	nodes := tree.Path("sys/devices/virtual/kfd/kfd/topology/nodes")
	for i := range 8 {
		file := filepath.Join(nodes, string(rune('1'+i)), "properties")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		text = append(text, []byte("location_id "+strconv.Itoa(5<<8|i)+"\n")...)
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	node := read(t, source)
	require.Len(t, node.Devices, 9)
	assert.Equal(t, gpu.Some[int64](8_000_000_000), node.Devices[8].Memory.Usage)
	assert.Equal(t, []string{"card8", "renderD136", "amdgpu_xcp_7"}, node.Devices[8].Aliases)
}

// TestOlderNames: in earlier kernels the names of the partitions' devices have a dot.
func TestOlderNames(t *testing.T) {
	m := amdgpusim.MI300XCPX()
	for i := range m.Cards[0].Partitions {
		p := &m.Cards[0].Partitions[i]
		p.XCP = strings.Replace(p.XCP, "xcp_", "xcp.", 1)
	}
	_, source, _ := simulate(t, m, withoutProcesses)
	node := read(t, source)
	require.Len(t, node.Devices, 9)
	assert.Equal(t, []string{"card1", "renderD129", "0000:05:00.0"}, node.Devices[1].Aliases)
	assert.Equal(t, []string{"card8", "renderD136", "amdgpu_xcp.7"}, node.Devices[8].Aliases)
	assert.Equal(t, "card8", node.Devices[8].Name)
}

// TestOwnTable: with newer drivers each partition has its own table.
func TestOwnTable(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI300XCPX(), withoutProcesses)
	dir := tree.Path("sys/devices/platform/amdgpu_xcp_3/xcp")
	require.NoError(t, os.MkdirAll(dir, 0o750))
	var own amdgpusim.AttributeTable
	own.Add(40, amdgpusim.AttributeU32, 10, 91) // AMDGPU_METRICS_ATTR_ID_GFX_BUSY_INST
	require.NoError(t, os.WriteFile(filepath.Join(dir, "xcp_metrics"), own.Encode(1, 1), 0o600))
	require.NoError(t, os.MkdirAll(tree.Path("sys/devices/platform/amdgpu_xcp_4/xcp"), 0o750))
	require.NoError(t, os.WriteFile(tree.Path("sys/devices/platform/amdgpu_xcp_4/xcp/xcp_metrics"), []byte("what"), 0o600))
	node := read(t, source)
	assert.Equal(t, gpu.Some(0.91), node.Devices[4].Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.Some(0.4), node.Devices[5].Utilization[gpu.TaskGeneral], "its share of the GPU's table")
	assert.Equal(t, []string{"xcp_metrics"}, whats(node, "a1b2c3d4e5f60000"))
}

// hide hides the nodes of all but some partitions in the topology, as for a container that may use only those. The returned function
// shows them again.
func hide(t *testing.T, tree *amdgpusim.Tree, partitions int, but ...int) (show func()) {
	t.Helper()
	file := func(i int) string {
		return tree.Path("sys/devices/virtual/kfd/kfd/topology/nodes/" + strconv.Itoa(i+1) + "/gpu_id")
	}
	var hidden []int
	for i := range partitions {
		if !slices.Contains(but, i) {
			require.NoError(t, os.Rename(file(i), file(i)+".hidden"))
			hidden = append(hidden, i)
		}
	}
	return func() {
		for _, i := range hidden {
			require.NoError(t, os.Rename(file(i)+".hidden", file(i)))
		}
	}
}

// TestSomePartitionsSeen: partitions whose nodes the kernel shows keep their numbers, and with them their IDs, values and processes. The
// others have the values of the table.
func TestSomePartitionsSeen(t *testing.T) {
	for name, visible := range map[string][]int{"two": {3, 5}, "one": {3}, "the first": {0}} {
		t.Run(name, func(t *testing.T) {
			tree, source, _ := simulate(t, amdgpusim.MI300XCPX(), gpu.GroupAll)
			show := hide(t, tree, 8, visible...)
			for range 2 {
				node := read(t, source)
				assert.Equal(t, []string{"topology"}, whats(node, ""))
				require.Len(t, node.Devices, 9)
				for i := range 8 {
					p := &node.Devices[1+i]
					assert.Equal(t, "a1b2c3d4e5f60000/"+strconv.Itoa(i), p.ID)
					assert.Equal(t, gpu.Some(i), p.Index)
					assert.Equal(t, gpu.Some(float64(i)/10), p.Utilization[gpu.TaskGeneral])
					if !slices.Contains(visible, i) {
						assert.False(t, p.Memory.Limit.Known())
						assert.False(t, p.Memory.Usage.Known())
						assert.Equal(t, i == 0, len(p.Aliases) > 0, "only that of the first is known: it is the GPU's own")
						continue
					}
					assert.Equal(t, gpu.Some(1_000_000_000*int64(i+1)), p.Memory.Usage)
					names := []string{"card1", "renderD129", "0000:05:00.0"}
					if i > 0 {
						names = []string{"card" + strconv.Itoa(1+i), "renderD" + strconv.Itoa(129+i), "amdgpu_xcp_" + strconv.Itoa(i)}
					}
					assert.Equal(t, names, p.Aliases)
				}
				for _, p := range node.Processes {
					assert.Equal(t, map[int64]string{8000: "a1b2c3d4e5f60000/0", 8003: "a1b2c3d4e5f60000/3"}[p.PID], p.DeviceID)
				}
				assert.Equal(t, slices.Contains(visible, 3), slices.ContainsFunc(node.Processes, func(p gpu.Process) bool { return p.PID == 8003 }))
			}
			// The generation of the topology does not change with the permission to see a node.
			show()
			node := read(t, source)
			assert.Empty(t, node.Problems)
			assert.Equal(t, gpu.Some[int64](8_000_000_000), node.Devices[8].Memory.Usage)
			assert.Len(t, node.Processes, 2)
		})
	}
}

// TestTableUnread: the partitions stay when the table, which has their number, cannot be read for a while.
func TestTableUnread(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI300XCPX(), withoutProcesses)
	hide(t, tree, 8, 3)
	require.Len(t, read(t, source).Devices, 9)
	source.readFile = func(path string) ([]byte, error) {
		if filepath.Base(path) == "gpu_metrics" {
			return nil, syscall.EBUSY
		}
		return sysfs.Read(path)
	}
	node := read(t, source)
	require.Len(t, node.Devices, 9)
	assert.Equal(t, "a1b2c3d4e5f60000/7", node.Devices[8].ID)
	assert.False(t, node.Devices[8].Utilization[gpu.TaskGeneral].Known())

	// Another mode has another number of partitions.
	require.NoError(t, os.WriteFile(tree.Path(amdgpusim.MI300XCPX().Cards[0].Dir()+"/current_compute_partition"), []byte("QPX\n"), 0o600))
	assert.Len(t, read(t, source).Devices, 5)
}

// TestUnnumbered: nodes without numbers, or with a number that occurs twice, are numbered in their order.
func TestUnnumbered(t *testing.T) {
	for name, numbers := range map[string][8]int{"none": {}, "one twice": {0, 1, 2, 2, 4, 5, 6, 7}} {
		t.Run(name, func(t *testing.T) {
			tree, source, _ := simulate(t, amdgpusim.MI300XCPX(), withoutProcesses)
			for i, number := range numbers {
				file := tree.Path("sys/devices/virtual/kfd/kfd/topology/nodes/" + strconv.Itoa(i+1) + "/properties")
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				text = append(text, []byte("location_id "+strconv.Itoa(5<<8|number<<28)+"\n")...)
				require.NoError(t, os.WriteFile(file, text, 0o600))
			}
			node := read(t, source)
			require.Len(t, node.Devices, 9)
			for i := range 8 {
				assert.Equal(t, gpu.Some(1_000_000_000*int64(i+1)), node.Devices[1+i].Memory.Usage)
			}
		})
	}
}
