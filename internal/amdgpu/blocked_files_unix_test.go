// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package amdgpu

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// block puts a FIFO in the place of a file, and returns a function that ends every wait for it and restores the file.
func block(t *testing.T, path string, sources ...*Source) (restore func()) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return func() {
		release(t, path, string(text))
		for _, s := range sources {
			require.Eventually(t, func() bool { return s.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
		}
	}
}

// TestBlockedFileOfScan: one file of the scan that does not answer costs no GPU its reading, neither later nor at the first read.
func TestBlockedFileOfScan(t *testing.T) {
	m := amdgpusim.MI300XCPX()
	bus := func(s *Source) *workers.Task { return s.scanner.bus.task }
	topology := func(s *Source) *workers.Task { return s.scanner.topology.task }
	for name, tt := range map[string]struct {
		file, problem string
		reader        func(*Source) *workers.Task
	}{
		"PCI class":          {file: m.Cards[0].Dir() + "/class", problem: "inventory", reader: bus},
		"PCI vendor":         {file: m.Cards[0].Dir() + "/vendor", problem: "inventory", reader: bus},
		"KFD topology":       {file: "sys/devices/virtual/kfd/kfd/topology/nodes/1/properties", problem: "inventory", reader: topology},
		"version of driver":  {file: "sys/module/amdgpu/version", reader: func(s *Source) *workers.Task { return s.scanner.version.task }},
		"names":              {file: "usr/share/libdrm/amdgpu.ids", reader: func(s *Source) *workers.Task { return s.scanner.names.task }},
		"memory of KFD node": {file: "sys/devices/virtual/kfd/kfd/topology/nodes/1/mem_banks/0/properties", problem: "inventory", reader: topology},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, source, _ := simulate(t, m, withoutProcesses)
			switch name {
			case "version of driver":
				require.NoError(t, os.WriteFile(tree.Path(tt.file), []byte("6.8.5\n"), 0o600))
			case "names":
				require.NoError(t, os.MkdirAll(filepath.Dir(tree.Path(tt.file)), 0o750))
				require.NoError(t, os.WriteFile(tree.Path(tt.file), []byte("74A1,\t00,\tA name\n"), 0o600))
			}
			read(t, source)
			want := slices.Clone(read(t, source).Devices) // the second read has times
			fresh, err := New(Config{RootPath: tree.Root}, withoutProcesses, WithClock(source.now))
			require.NoError(t, err)
			restore := block(t, tree.Path(tt.file), source, fresh)

			if name != "names" { // which are known
				untilHung(t, source, tt.reader(source))
			}
			node := read(t, source)
			assert.Equal(t, want, node.Devices, "the parts that did not answer are as they were")
			if tt.problem != "" {
				assert.Equal(t, []string{tt.problem}, whats(node, ""))
			}
			assert.Nil(t, node.Failure)

			untilHung(t, fresh, tt.reader(fresh))
			node = read(t, fresh)
			require.NotEmpty(t, node.Devices)
			d := &node.Devices[0]
			assert.Empty(t, d.Faults)
			assert.Equal(t, want[0].ID, d.ID)
			assert.Equal(t, want[0].Power, d.Power)
			assert.Equal(t, name == "names", len(node.Problems) == 0, "the GPU itself has a name")
			assert.Equal(t, gpu.Some[int64](1), node.Presence[gpu.Visible])

			restore()
			require.NoError(t, fresh.Close())
			node = read(t, source)
			assert.Empty(t, node.Problems)
			assert.Equal(t, want, node.Devices)
		})
	}
}

// TestBlockedNames: a GPU whose name is in a table that does not answer has no name until it does.
func TestBlockedNames(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.Radeon(), withoutProcesses)
	table := tree.Path("usr/share/libdrm/amdgpu.ids")
	require.NoError(t, os.MkdirAll(filepath.Dir(table), 0o750))
	require.NoError(t, os.WriteFile(table, []byte("744c,\tc8,\tA Radeon of the test\n"), 0o600))
	restore := block(t, table, source)
	untilHung(t, source, source.scanner.names.task)
	for range 2 {
		node := read(t, source)
		d := &node.Devices[0]
		assert.Empty(t, d.Model)
		assert.Empty(t, d.Faults)
		assert.Equal(t, []string{"identity"}, whats(node, d.ID))
		require.ErrorContains(t, node.Problems[0].Err, "amdgpu.ids: no answer in time")
	}
	restore()
	node := read(t, source)
	assert.Equal(t, "A Radeon of the test", node.Devices[0].Model)
	assert.Empty(t, node.Problems)
}

// TestBlockedProcess: only the process with a file that does not answer is left out, by the DRM driver and by KFD.
func TestBlockedProcess(t *testing.T) {
	m := amdgpusim.MI100()
	second := m.Processes[0]
	second.PID, second.Files = 5000, slices.Clone(second.Files)
	for i := range second.Files {
		if c := second.Files[i].Client; c != nil {
			client := *c
			client.ID += 1000
			second.Files[i].Client = &client
		}
	}
	m.Processes = append(m.Processes, second)
	tree, source, clock := simulate(t, m, gpu.GroupAll)
	pids := func(node *gpu.Node) []int64 {
		var result []int64
		for _, p := range node.Processes {
			result = append(result, p.PID)
		}
		return result
	}
	require.Equal(t, []int64{4242, 5000}, pids(read(t, source)))
	memory, err := filepath.Glob(tree.Path("sys/class/kfd/kfd/proc/4242/vram_*"))
	require.NoError(t, err)
	restoreDRM := block(t, tree.Path("proc/4242/fdinfo/20"))
	restoreKFD := block(t, memory[0])
	untilBlocked(t, source, 2)
	for range 3 {
		clock.pass(10 * time.Second)
		node := read(t, source)
		assert.Equal(t, []int64{5000}, pids(node), "it comes after the one that blocks")
		assert.Equal(t, []string{"processes", "processes"}, whats(node, ""))
		require.ErrorContains(t, node.Problems[0].Err, "[4242]: did not answer in time")
		assert.True(t, node.Devices[0].ProcessesUnread, "the other one has not ended")
		assert.Empty(t, node.Devices[0].Faults)
		assert.Zero(t, source.pool.Outstanding())
	}
	restoreDRM()
	restoreKFD()
	require.Eventually(t, func() bool {
		node := read(t, source)
		return len(node.Processes) == 2 && len(node.Problems) == 0 && !node.Devices[0].ProcessesUnread
	}, time.Minute, time.Millisecond)
}

// TestDividedWhileTheTopologyIsBlocked: the topology of the last scan does not fit the GPU's partitions any more. The partitions do not get
// the names of the GPU, and their names stay once they are known.
func TestDividedWhileTheTopologyIsBlocked(t *testing.T) {
	t.Parallel()
	m := amdgpusim.MI300XCPX()
	whole := amdgpusim.MI300XCPX()
	whole.Cards[0].Compute = "SPX"
	whole.Cards[0].Partitions = whole.Cards[0].Partitions[:1]
	tree, source, _ := simulate(t, whole, withoutProcesses)
	require.Len(t, read(t, source).Devices, 1)

	topology, nodes := "sys/devices/virtual/kfd/kfd/topology", "sys/devices/virtual/kfd/kfd/topology/nodes/1/properties"
	put := func(m *amdgpusim.Machine) {
		other, err := amdgpusim.Write(t.TempDir(), m)
		require.NoError(t, err)
		for _, name := range []string{topology, "sys/devices/platform", "sys/class/drm"} {
			require.NoError(t, os.RemoveAll(tree.Path(name)))
			require.NoError(t, os.Rename(other.Path(name), tree.Path(name)))
		}
		mode := tree.Path(m.Cards[0].Dir() + "/current_compute_partition")
		require.NoError(t, os.WriteFile(mode, []byte(m.Cards[0].Compute+"\n"), 0o600))
	}
	names := func() (all []string) {
		node := read(t, source)
		for i := range node.Devices {
			all = append(all, node.Devices[i].Name)
		}
		return all
	}
	put(m)
	restore := block(t, tree.Path(nodes), source)
	untilHung(t, source, source.scanner.topology.task)
	assert.Equal(t, []string{"card1", "card1", "", "", "", "", "", "", ""}, names(), "the GPU and its first partition are one")
	restore()
	want := []string{"card1", "card1", "card2", "card3", "card4", "card5", "card6", "card7", "card8"}
	require.Equal(t, want, names())
	put(whole)
	require.Equal(t, []string{"card1"}, names())
	put(m)
	restore = block(t, tree.Path(nodes), source)
	untilHung(t, source, source.scanner.topology.task)
	assert.Equal(t, want, names())
	restore()
}
