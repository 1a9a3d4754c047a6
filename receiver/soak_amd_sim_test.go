// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

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
)

// soakAMD is a machine with AMD GPUs, as the kernel's files show it.
type soakAMD struct {
	*soak
	root       string
	tool       command.Tool // that tells of it; empty: the files do
	trouble    string       // with the tool
	cards      []*soakCard
	processes  []soakUse
	unloaded   bool // the driver is
	driver     int  // which version it is of
	generation int  // of the topology
	serial     int
	spoiled    []string // files that are not as they were written
	energy     map[string]soakEnergy
}

// The machine as the driver's files tell of it.
func TestSoakAMD(t *testing.T) {
	soakHistories(t, func(t *testing.T, seed uint64) *soak {
		return newSoakAMD(t, seed, "", func(n *soakAMD, want gpu.Group) gpu.Source {
			settings := amdgpu.DefaultConfig()
			settings.RootPath = n.root
			source, err := amdgpu.New(settings, want, amdgpu.WithClock(n.now))
			require.NoError(t, err)
			return source
		})
	})
}

func newSoakAMD(t *testing.T, seed uint64, tool command.Tool, source func(*soakAMD, gpu.Group) gpu.Source) *soak {
	t.Helper()
	s := newSoak(t, seed)
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // there are many files
	}
	n := &soakAMD{soak: s, root: t.TempDir(), tool: tool, cards: soakCards(s.rng), energy: map[string]soakEnergy{}}
	s.node = n
	s.history.Changing = []string{"hw.gpu.partition.profile"}
	if tool == command.ROCmSMI {
		s.history.Changing = append(s.history.Changing, "hw.name") // it numbers what there is
	}
	s.begin(filepath.Join(n.root, "proc"), func(want gpu.Group) gpu.Source {
		made := source(n, want)
		t.Cleanup(func() {
			n.restore() // a read that hangs must not outlast its test
			require.NoError(t, made.Close())
		})
		return made
	})
	return s
}

func (n *soakAMD) path(name string) string { return filepath.Join(n.root, name) }

// apply writes the files anew.
func (n *soakAMD) apply() {
	n.restore()
	for _, links := range []string{"sys/class/drm", "sys/class/hwmon", "sys/bus/pci/devices", "sys/module/amdgpu", "proc", "sys/devices/virtual/kfd/kfd/proc"} {
		require.NoError(n.t, os.RemoveAll(n.path(links)))
	}
	m := &amdgpusim.Machine{Driver: fmt.Sprint("6.12.", n.driver), Kernel: "6.8.0-60-generic"}
	for _, c := range n.cards {
		c.dozed = c.dozed || c.Status != "active" && n.trouble == "" && c.fate == "" && !n.unloaded
		c.encode()
		away := c.fate != "" || n.unloaded
		if c.anew || away {
			n.discard(c.Dir())
			clear(c.faults)
			c.wake() // to be made
			c.anew = away
		}
		switch {
		case c.fate == "absent":
		case c.fate != "":
			m.Others = append(m.Others, amdgpusim.PCIFunction{Address: c.Address, Vendor: 0x1002, Class: c.Class, Driver: c.fate})
		case n.unloaded:
			m.Others = append(m.Others, amdgpusim.PCIFunction{Address: c.Address, Vendor: 0x1002, Class: c.Class})
		default:
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

// topology has the compute driver make all its nodes anew where a GPU or a partition has come or gone.
func (n *soakAMD) topology(m *amdgpusim.Machine) {
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

// discard removes a directory as the kernel does: the next of the same name is another one.
func (n *soakAMD) discard(dir string) {
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

func (n *soakAMD) write(name, text string) {
	require.NoError(n.t, os.MkdirAll(filepath.Dir(n.path(name)), 0o750))
	require.NoError(n.t, os.WriteFile(n.path(name), []byte(text), 0o600))
}

// spoil does to the files of a GPU what is wrong with them.
func (n *soakAMD) spoil(c *soakCard) {
	for _, name := range slices.Sorted(maps.Keys(c.faults)) {
		file := n.path(filepath.Join(c.Dir(), name))
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has none
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

// restore takes away what is in the place of files, and lets go of reads that hang there.
func (n *soakAMD) restore() {
	for _, file := range n.spoiled {
		if f, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			require.NoError(n.t, f.Close())
		}
		require.NoError(n.t, os.RemoveAll(file))
	}
	n.spoiled = nil
}
