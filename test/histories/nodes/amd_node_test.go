// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/histories"
)

// amdNode is a machine with AMD GPUs, read through the kernel's files or a tool.
type amdNode struct {
	*node
	root       string
	tool       command.Tool // that is read; empty: the files are
	trouble    string       // the tool's fault
	cards      []*amdGPU
	processes  []amdProcess
	unloaded   bool // no driver
	driver     int  // version
	generation int  // of the compute driver's topology
	serial     int
	spoiled    []string // files with a fault
	energy     map[string]sentEnergy
}

// AMD GPUs by the driver's files.
func TestAMDGPU(t *testing.T) {
	play(t, func(t *testing.T, h *histories.History) *node {
		return newAMDNode(t, h, "", func(n *amdNode, want gpu.Group) gpu.Source {
			settings := amdgpu.DefaultConfig()
			settings.RootPath = n.root
			source, err := amdgpu.New(settings, want, amdgpu.WithClock(n.now), amdgpu.WithHungAfter(-1))
			require.NoError(t, err)
			return source
		})
	})
}

func newAMDNode(t *testing.T, h *histories.History, tool command.Tool, source func(*amdNode, gpu.Group) gpu.Source) *node {
	t.Helper()
	s := newNode(t, h)
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // there are many files
	}
	n := &amdNode{node: s, root: t.TempDir(), tool: tool, cards: newAMDGPUs(s.rng), energy: map[string]sentEnergy{}}
	s.machine = n
	s.sequence.Changing = []string{"hw.gpu.memory.partition", "hw.gpu.partition.profile"}
	if tool == command.ROCmSMI {
		s.sequence.Changing = append(s.sequence.Changing, "hw.name") // it numbers what there is
	}
	s.begin(filepath.Join(n.root, "proc"), func(want gpu.Group) gpu.Source {
		result := source(n, want)
		t.Cleanup(func() {
			n.restore() // a read that hangs must not outlast its test
			require.NoError(t, result.Close())
		})
		return result
	})
	return s
}

func (n *amdNode) path(name string) string { return filepath.Join(n.root, name) }

// apply writes the files again.
func (n *amdNode) apply() {
	n.restore()
	for _, links := range []string{"sys/class/drm", "sys/class/hwmon", "sys/bus/pci/devices", "sys/module/amdgpu", "proc", "sys/devices/virtual/kfd/kfd/proc"} {
		require.NoError(n.t, os.RemoveAll(n.path(links)))
	}
	m := &amdgpusim.Machine{Driver: fmt.Sprint("6.12.", n.driver), Kernel: "6.8.0-60-generic"}
	for _, c := range n.cards {
		c.dozed = c.dozed || c.Status != "active" && n.trouble == "" && c.fate == "" && !n.unloaded
		c.encode()
		away := c.fate != "" || n.unloaded
		if c.again || away {
			n.discard(c.Dir())
			clear(c.faults)
			c.wake() // to be made
			c.again = away
		}
		switch {
		case c.fate == "absent":
		case c.fate != "":
			c.handed = true
			m.Others = append(m.Others, amdgpusim.PCIFunction{Address: c.Address, Vendor: 0x1002, Class: c.Class, Driver: c.fate})
		case n.unloaded:
			m.Others = append(m.Others, amdgpusim.PCIFunction{Address: c.Address, Vendor: 0x1002, Class: c.Class})
		default:
			c.handed = false
			m.Cards = append(m.Cards, c.Card)
		}
	}
	for _, u := range n.processes {
		m.Processes = append(m.Processes, u.process())
	}
	if n.tool != "" {
		m.Cards, m.Others = nil, nil
	}
	n.topology(m)
	_, err := amdgpusim.Write(n.root, m)
	require.NoError(n.t, err)
	if n.tool != "" {
		return
	}
	if !n.unloaded && len(m.Cards) == 0 {
		require.NoError(n.t, os.MkdirAll(n.path("sys/module/amdgpu"), 0o750))
	}
	if len(m.Cards) > 0 {
		n.write("sys/devices/virtual/kfd/kfd/topology/generation_id", fmt.Sprintln(n.generation))
	}
	for _, c := range n.cards {
		if c.fate == "" && !n.unloaded {
			n.write(c.Dir()+"/power/runtime_suspended_time", fmt.Sprintln(int64(c.slept*1000)))
			n.spoil(c)
		}
	}
}

// topology rewrites all nodes of the compute driver after a GPU or a partition was added or removed.
func (n *amdNode) topology(m *amdgpusim.Machine) {
	nodes := n.path("sys/devices/virtual/kfd/kfd/topology/nodes")
	var ids []string
	for _, c := range m.Cards {
		for i := range c.Partitions {
			ids = append(ids, strconv.FormatUint(uint64(c.Partitions[i].GPUID), 10))
		}
	}
	var before []string
	for i := 1; ; i++ {
		text, err := os.ReadFile(filepath.Join(nodes, strconv.Itoa(i), "gpu_id"))
		if err != nil {
			break
		}
		before = append(before, string(text[:len(text)-1]))
	}
	if !slices.Equal(ids, before) {
		n.generation++
		require.NoError(n.t, os.RemoveAll(nodes))
	}
}

// discard removes a directory as the kernel does: the next one of the same name is another directory.
func (n *amdNode) discard(dir string) {
	n.serial++
	grave := n.path(fmt.Sprint("gone-", n.serial))
	if err := os.Rename(n.path(dir), grave); errors.Is(err, fs.ErrNotExist) {
		return
	}
	require.NoError(n.t, filepath.WalkDir(grave, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			return os.Remove(path)
		}
		return err
	}))
}

func (n *amdNode) write(name, text string) {
	require.NoError(n.t, os.MkdirAll(filepath.Dir(n.path(name)), 0o750))
	require.NoError(n.t, os.WriteFile(n.path(name), []byte(text), 0o600))
}

// spoil applies faults to the files of a GPU.
func (n *amdNode) spoil(c *amdGPU) {
	for _, name := range slices.Sorted(maps.Keys(c.faults)) {
		file := n.path(filepath.Join(c.Dir(), name))
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has no value
		}
		n.spoiled = append(n.spoiled, file)
		require.NoError(n.t, os.Remove(file))
		switch c.faults[name] {
		case "missing":
		case "error":
			require.NoError(n.t, os.Mkdir(file, 0o750))
		case "hangs":
			require.NoError(n.t, syscall.Mkfifo(file, 0o600))
		case "empty":
			require.NoError(n.t, os.WriteFile(file, nil, 0o600))
		case "cut":
			if name == "gpu_metrics" {
				text = text[:len(text)/2]
			}
			require.NoError(n.t, os.WriteFile(file, text, 0o600))
		case "garbage":
			require.NoError(n.t, os.WriteFile(file, []byte("~ none ~\n"), 0o600))
		}
	}
}

// restore removes the replacements of files, and ends the reads that hang on them.
func (n *amdNode) restore() {
	for _, file := range n.spoiled {
		if f, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			require.NoError(n.t, f.Close())
		}
		require.NoError(n.t, os.RemoveAll(file))
	}
	n.spoiled = nil
}
