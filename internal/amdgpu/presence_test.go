// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	}
}

func TestNothingAtAll(t *testing.T) {
	source, err := New(Config{RootPath: t.TempDir()}, gpu.GroupAll)
	require.NoError(t, err)
	node := read(t, source)
	assert.Equal(t, [3]int64{0, 0, -1}, presence(node))
	assert.Len(t, node.Problems, 1)
	require.NoError(t, source.Close())
}

// TestDriverLoadedLater: the driver, and then the GPUs, are found when they come.
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

// unplug takes the DRM nodes of a card away, as when its driver lets go of it, and more if asked to.
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

// plug writes a machine elsewhere and moves what is of the card here.
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
				assert.Equal(t, gpu.StateOK, node.Devices[1].State())
				assert.Equal(t, [3]int64{1, 1, 0}, presence(node))
			}

			plug(t, tree, m.Cards[0])
			node := read(t, source)
			require.Len(t, node.Devices, 2)
			assert.Empty(t, node.Devices[0].Faults)
			assert.Equal(t, gpu.Some(0.61), node.Devices[0].Utilization[gpu.TaskGeneral])
			assert.Greater(t, node.Devices[0].Epoch, before, "its counters have begun anew")
			assert.Equal(t, [3]int64{2, 0, 0}, presence(node))
		})
	}
}

// TestFoundElsewhere: a GPU that comes back at another address is the same GPU.
func TestFoundElsewhere(t *testing.T) {
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

// TestHandedOver: a GPU that is bound to another driver is no loss.
func TestHandedOver(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	read(t, source)
	unplug(t, tree, m.Cards[0], false)
	assert.Len(t, read(t, source).Devices, 2)
	require.NoError(t, os.Symlink("../../../bus/pci/drivers/vfio-pci", tree.Path(m.Cards[0].Dir()+"/driver")))
	node := read(t, source)
	require.Len(t, node.Devices, 1)
	assert.Equal(t, "3a51e0c2d4b70011", node.Devices[0].ID)
	assert.Equal(t, [3]int64{1, 0, 1}, presence(node))
}

// TestReloadedBetweenReads: a driver that was loaded anew between two reads, and numbered the cards otherwise, mixes up nothing.
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

// touches are the files that were read.
type touches struct {
	mu    sync.Mutex
	names []string
}

func (f *touches) read(d *dir, name string, buf []byte) ([]byte, error) {
	f.mu.Lock()
	f.names = append(f.names, name)
	f.mu.Unlock()
	return d.read(name, buf)
}

func TestAsleep(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].Status = "suspended"
	for name, wake := range map[string]bool{"left alone": false, "woken": true} {
		t.Run(name, func(t *testing.T) {
			tree, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = wake })
			var touched touches
			source.access = touched.read
			for range 2 {
				node := read(t, source)
				require.Len(t, node.Devices, 1)
				d := &node.Devices[0]
				assert.Equal(t, "0b7e4d2a91c60034", d.ID)
				assert.Equal(t, gpu.Some[int64](25753026560), d.Memory.Limit)
				assert.Empty(t, d.Faults)
				assert.Equal(t, [3]int64{1, 0, 0}, presence(node))
				assert.Equal(t, wake, d.Power.Draw.Known())
				assert.Equal(t, wake, d.Utilization[gpu.TaskGeneral].Known())
				if wake {
					assert.Empty(t, node.Problems)
					continue
				}
				assert.Equal(t, []string{"asleep"}, whats(node, d.ID))
				assert.Equal(t, []string{"mem_info_vram_total"}, touched.names)
			}
			if wake {
				return
			}
			require.NoError(t, os.WriteFile(filepath.Join(tree.Root, "sys/class/drm/card1/device/power/runtime_status"), []byte("active\n"), 0o600))
			node := read(t, source)
			assert.Empty(t, node.Problems)
			assert.Equal(t, gpu.Some(287.0), node.Devices[0].Power.Draw)
		})
	}
}

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

func TestThrottleTime(t *testing.T) {
	m := amdgpusim.MI300XSPX()
	tree, source, clock := simulate(t, m, withoutProcesses)
	assert.False(t, read(t, source).Devices[0].Throttle[gpu.ThrottlePowerPPT].Active.Known())
	table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x6)
	table.SystemClock += 30_000_000_000
	table.Accumulations += 30_000
	table.PPT += 10_000
	require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), amdgpusim.Encode(table), 0o600))
	began := clock.now
	clock.pass(30 * time.Second)
	throttle := read(t, source).Devices[0].Throttle[gpu.ThrottlePowerPPT]
	assert.Equal(t, gpu.Some(true), throttle.Active)
	seconds, ok := throttle.Time.Get()
	assert.True(t, ok)
	assert.InDelta(t, 10, seconds, 1e-9)
	assert.Equal(t, began, throttle.Time.Since())
}

// TestUnknownRevision: a table that is too new costs what only it tells, with one line.
func TestUnknownRevision(t *testing.T) {
	m := amdgpusim.MI300XSPX()
	tree, source, _ := simulate(t, m, withoutProcesses)
	text := amdgpusim.Encode(m.Cards[0].Metrics)
	text[3] = 42
	require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), text, 0o600))
	node := read(t, source)
	d := &node.Devices[0]
	assert.Equal(t, []string{"gpu_metrics"}, whats(node, d.ID))
	require.ErrorIs(t, node.Problems[0].Err, errRevision)
	require.ErrorContains(t, node.Problems[0].Err, "v1.42")
	assert.Equal(t, gpu.Some(318.0), d.Power.Draw)
	assert.False(t, d.Energy.Known())
	assert.Empty(t, d.Faults)
}

func TestWantedAlone(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.MI100(), gpu.GroupMemory)
	var touched touches
	source.access = touched.read
	node := read(t, source)
	d := &node.Devices[0]
	assert.True(t, d.Memory.Usage.Known())
	assert.True(t, d.ProcessesUnread)
	for _, name := range touched.names {
		assert.Contains(t, name, "mem_info_", "nothing else is read")
	}
}

func TestConfig(t *testing.T) {
	cfg := DefaultConfig()
	require.NoError(t, cfg.Validate())
	assert.Equal(t, Config{RootPath: "/"}, cfg)
	for path, says := range map[string]string{"": "root_path: empty", "host": `root_path: "host" is no absolute path`} {
		cfg := Config{RootPath: path}
		require.ErrorContains(t, cfg.Validate(), says)
		_, err := New(cfg, gpu.GroupAll)
		require.Error(t, err)
	}
}

func TestModels(t *testing.T) {
	m := amdgpusim.Radeon()
	tree, source, _ := simulate(t, m, withoutProcesses)
	require.NoError(t, os.MkdirAll(tree.Path("usr/share/libdrm"), 0o750))
	require.NoError(t, os.WriteFile(tree.Path("usr/share/libdrm/amdgpu.ids"), []byte(
		"# ids\n1.0.0\n744C,\tC9,\tAnother\n744c,\tc8,\tA Radeon of the test\n"), 0o600))
	assert.Equal(t, "A Radeon of the test", read(t, source).Devices[0].Model)
	_, source, _ = simulate(t, amdgpusim.MI100(), withoutProcesses)
	assert.Equal(t, "AMD Instinct MI100", read(t, source).Devices[0].Model, "by its PCI id")
}
