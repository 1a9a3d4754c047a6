// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func presence(node *gpu.Node) [3]int64 {
	var result [3]int64
	for i, p := range node.Presence {
		v, ok := p.Get()
		if !ok {
			v = -1
		}
		result[i] = v
	}
	return result
}

func others() []amdgpusim.PCIFunction {
	return []amdgpusim.PCIFunction{
		{Address: "0000:00:00.0", Vendor: 0x1022, Class: 0x060000},
		{Address: "0000:81:00.0", Vendor: 0x10de, Class: 0x030200, Driver: "nvidia"},
		{Address: "0000:91:00.0", Vendor: 0x1002, Class: 0x120000, Driver: "vfio-pci"},
		{Address: "0000:92:00.0", Vendor: 0x1002, Class: 0x030000, Driver: "radeon"},
		{Address: "0000:93:00.0", Vendor: 0x1002, Class: 0x038000},                          // bound to nothing
		{Address: "0000:94:00.0", Vendor: 0x1002, Class: 0x030200, Driver: "amdgpu"},        // which failed to start it
		{Address: "0000:94:00.1", Vendor: 0x1002, Class: 0x040300, Driver: "snd_hda_intel"}, // sound
	}
}

func TestPresence(t *testing.T) {
	m := amdgpusim.MI250()
	m.Others = others()
	_, source, _ := simulate(t, m, withoutProcesses)
	assert.Equal(t, [3]int64{2, 2, 2}, presence(read(t, source)))
}

func TestNoDriver(t *testing.T) {
	_, source, _ := simulate(t, &amdgpusim.Machine{Kernel: "6.12", Others: others()[:5]}, gpu.GroupAll)
	for range 2 {
		node := read(t, source)
		assert.Empty(t, node.Devices)
		assert.Equal(t, [3]int64{0, 1, 2}, presence(node))
		require.Len(t, node.Problems, 1)
		assert.Equal(t, "driver", node.Problems[0].What)
		require.ErrorContains(t, node.Problems[0].Err, "load it")
		require.ErrorContains(t, node.Problems[0].Err, "AMD GPU at PCI address 0000:93:00.0", "which GPU it is missing for")
		require.NotNil(t, node.Failure, "one GPU is bound to nothing")
		assert.Equal(t, gpu.FailureDriver, node.Failure.Reason)
	}
}

func TestNoAMDGPU(t *testing.T) {
	source, err := New(Config{RootPath: t.TempDir()}, gpu.GroupAll)
	require.NoError(t, err)
	node := read(t, source)
	assert.Equal(t, [3]int64{0, 0, -1}, presence(node))
	assert.Len(t, node.Problems, 1)
	assert.Nil(t, node.Failure, "a machine without AMD GPUs can be read")
	require.NoError(t, source.Close())
}

// TestDriverLoadedLater: the GPUs are found once the driver is loaded.
func TestDriverLoadedLater(t *testing.T) {
	root := t.TempDir()
	source, err := New(Config{RootPath: root}, withoutProcesses)
	require.NoError(t, err)
	assert.Empty(t, read(t, source).Devices)
	_, err = amdgpusim.Write(root, amdgpusim.MI300XCPX())
	require.NoError(t, err)
	node := read(t, source)
	assert.Len(t, node.Devices, 9)
	assert.Equal(t, [3]int64{1, 0, 0}, presence(node))
	require.NoError(t, source.Close())
}

// unplug removes the DRM nodes of a card, as when the driver releases it, and the card itself if fromBus is set.
func unplug(t *testing.T, tree *amdgpusim.Tree, c *amdgpusim.Card, fromBus bool) {
	t.Helper()
	for _, name := range []string{"card0", "renderD128", "card0-DP-1"} {
		require.NoError(t, os.Remove(tree.Path("sys/class/drm/"+name)))
	}
	require.NoError(t, os.RemoveAll(tree.Path(c.Dir()+"/drm")))
	require.NoError(t, os.Remove(tree.Path(c.Dir()+"/driver")))
	if fromBus {
		require.NoError(t, os.Remove(tree.Path("sys/bus/pci/devices/"+c.Address)))
		require.NoError(t, os.RemoveAll(tree.Path(c.Dir())))
	}
}

// plug adds a card: it writes another machine with it and moves the card's files here.
func plug(t *testing.T, tree *amdgpusim.Tree, c *amdgpusim.Card) {
	t.Helper()
	other, err := amdgpusim.Write(t.TempDir(), &amdgpusim.Machine{Kernel: "6.12", Cards: []*amdgpusim.Card{c}})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(tree.Path(c.Dir())))
	require.NoError(t, os.Rename(other.Path(c.Dir()), tree.Path(c.Dir())))
	for _, name := range []string{"card0", "renderD128", "card0-DP-1"} {
		require.NoError(t, os.Rename(other.Path("sys/class/drm/"+name), tree.Path("sys/class/drm/"+name)))
	}
	_ = os.Remove(tree.Path("sys/bus/pci/devices/" + c.Address))
	require.NoError(t, os.Rename(other.Path("sys/bus/pci/devices/"+c.Address), tree.Path("sys/bus/pci/devices/"+c.Address)))
}

func TestRemovedAndAdded(t *testing.T) {
	for name, fromBus := range map[string]bool{"from the bus": true, "from the driver": false} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.MI100()
			tree, source, _ := simulate(t, m, withoutProcesses)
			before := read(t, source).Devices[0].Epoch

			unplug(t, tree, m.Cards[0], fromBus)
			for range 3 {
				node := read(t, source)
				require.Len(t, node.Devices, 2)
				lost := &node.Devices[0]
				assert.Equal(t, "3a51e0c2d4b70010", lost.ID)
				assert.Equal(t, "card0", lost.Name)
				require.Len(t, lost.Faults, 1)
				assert.Equal(t, gpu.FaultLost, lost.Faults[0].Type)
				assert.False(t, lost.Utilization[gpu.TaskGeneral].Known())
				assert.False(t, lost.CurrentIndex.Known(), "the tools do not show it")
				assert.Equal(t, gpu.StateOK, node.Devices[1].State())
				assert.Equal(t, gpu.Some(1), node.Devices[1].Index, "as before")
				assert.Equal(t, gpu.Some(0), node.Devices[1].CurrentIndex, "the tools count those that are there")
				assert.Equal(t, [3]int64{1, 1, 0}, presence(node))
			}

			plug(t, tree, m.Cards[0])
			node := read(t, source)
			require.Len(t, node.Devices, 2)
			assert.Empty(t, node.Devices[0].Faults)
			assert.Equal(t, gpu.Some(0.61), node.Devices[0].Utilization[gpu.TaskGeneral])
			assert.Greater(t, node.Devices[0].Epoch, before, "its counters have begun again")
			assert.Equal(t, [3]int64{2, 0, 0}, presence(node))
		})
	}
}

// TestGPUAtAnotherAddress: a GPU that comes back at another address is the same GPU.
func TestGPUAtAnotherAddress(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	read(t, source)
	unplug(t, tree, m.Cards[0], true)
	assert.Equal(t, [3]int64{1, 1, 0}, presence(read(t, source)))
	moved := amdgpusim.MI100().Cards[0]
	moved.Address = "0000:d3:00.0"
	plug(t, tree, moved)
	node := read(t, source)
	require.Len(t, node.Devices, 2)
	assert.Equal(t, "3a51e0c2d4b70011", node.Devices[0].ID)
	assert.Equal(t, "3a51e0c2d4b70010", node.Devices[1].ID)
	assert.Equal(t, "0000:d3:00.0", node.Devices[1].Info.PCIAddress)
	assert.Equal(t, [3]int64{2, 0, 0}, presence(node))
}

// TestHandedOver: a GPU that is bound to another driver is not lost.
func TestHandedOver(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	before := read(t, source).Devices[0]
	unplug(t, tree, m.Cards[0], false)
	assert.Len(t, read(t, source).Devices, 2)
	require.NoError(t, os.Symlink("../../../bus/pci/drivers/vfio-pci", tree.Path(m.Cards[0].Dir()+"/driver")))
	node := read(t, source)
	require.Len(t, node.Devices, 1)
	assert.Equal(t, "3a51e0c2d4b70011", node.Devices[0].ID)
	assert.Equal(t, [3]int64{1, 0, 1}, presence(node))

	// It is bound again: its counters have started again.
	unbound := tree.Path(m.Cards[0].Dir() + "/driver")
	require.NoError(t, os.Remove(unbound))
	plug(t, tree, m.Cards[0])
	after := read(t, source).Devices[0]
	assert.Equal(t, before.ID, after.ID)
	assert.Greater(t, after.Epoch, before.Epoch)
}

// TestReloadedBetweenReads: GPUs keep their values when the driver was loaded again between two reads and numbers the cards otherwise.
func TestReloadedBetweenReads(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	read(t, source)
	drm := func(name string) string { return tree.Path("sys/class/drm/" + name) }
	require.NoError(t, os.Rename(drm("card0"), drm("x")))
	require.NoError(t, os.Rename(drm("card1"), drm("card0")))
	require.NoError(t, os.Rename(drm("x"), drm("card1")))
	for range 2 {
		node := read(t, source)
		require.Len(t, node.Devices, 2)
		assert.Equal(t, gpu.Some(0.61), node.Devices[0].Utilization[gpu.TaskGeneral])
		assert.Equal(t, "card1", node.Devices[0].Name)
		assert.Equal(t, gpu.Some(0.81), node.Devices[1].Utilization[gpu.TaskGeneral])
		assert.Empty(t, node.Devices[1].Faults)
	}
}

// TestReloadedDuringRead: the driver is loaded again between the scan and the read of a GPU, and numbers the card otherwise. The source
// looks for it again.
func TestReloadedDuringRead(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	second := tree.Path(m.Cards[1].Dir()+"/drm") + "/"
	var once sync.Once
	source.readFile = func(path string) ([]byte, error) {
		once.Do(func() { // in the read of the first GPU
			assert.NoError(t, os.Rename(second+"card1", second+"card7"))
			assert.NoError(t, os.Remove(tree.Path("sys/class/drm/card1")))
			link, err := filepath.Rel(tree.Path("sys/class/drm"), second+"card7")
			assert.NoError(t, err)
			assert.NoError(t, os.Symlink(link, tree.Path("sys/class/drm/card7")))
		})
		return sysfs.Read(path)
	}
	for range 2 {
		node := read(t, source)
		require.Len(t, node.Devices, 2)
		assert.Empty(t, node.Devices[0].Faults)
		assert.Empty(t, node.Devices[1].Faults)
		assert.Equal(t, gpu.Some(0.81), node.Devices[1].Utilization[gpu.TaskGeneral])
	}
	assert.Equal(t, "card7", read(t, source).Devices[1].Name)
}

func TestTwoOfOneID(t *testing.T) {
	m := amdgpusim.MI100()
	m.Cards[1].UniqueID = m.Cards[0].UniqueID
	_, source, _ := simulate(t, m, gpu.GroupAll)
	node := read(t, source)
	require.Len(t, node.Devices, 2)
	assert.Equal(t, "3a51e0c2d4b70010", node.Devices[0].ID)
	assert.Empty(t, node.Devices[1].ID)
	assert.Equal(t, []string{"unique_id"}, whats(node, "0000:a3:00.0"))
}
