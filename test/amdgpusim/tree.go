// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Boot is when a machine was started, in seconds since 1970. A process starts as many seconds later as its PID says.
const Boot = 1_767_312_000

// Tree is a machine's files below a directory.
type Tree struct {
	Root string
	err  error
}

// Write writes the files of a machine below root. The directory must be empty, must not exist, or must hold the files of the same
// machine, whose values are then replaced.
func Write(root string, m *Machine) (*Tree, error) {
	t := &Tree{Root: root}
	for _, d := range []string{
		"sys/class/drm", "sys/class/hwmon", "sys/class/kfd", "sys/bus/pci/devices", "sys/bus/pci/drivers/amdgpu",
		"sys/devices/platform", "sys/kernel/debug", "sys/module", "proc/sys/kernel",
	} {
		t.mkdir(d)
	}
	t.write("proc/sys/kernel/osrelease", m.Kernel+"\n")
	t.write("proc/version", "Linux version "+m.Kernel+" (made up)\n")
	if len(m.Cards) > 0 {
		t.module(m)
		t.kfd(m)
	}
	for _, c := range m.Cards {
		t.card(c)
	}
	for i := range m.Others {
		t.function(&m.Others[i])
	}
	if len(m.Processes) > 0 {
		t.write("proc/stat", fmt.Sprintf("btime %d\n", Boot))
	}
	for i := range m.Processes {
		t.process(m, &m.Processes[i])
	}
	return t, t.err
}

func (t *Tree) module(m *Machine) {
	t.write("sys/module/amdgpu/initstate", "live\n")
	if m.Driver != "" {
		t.write("sys/module/amdgpu/version", m.Driver+"\n")
	}
}

// Path returns the path of a file of the tree.
func (t *Tree) Path(name string) string { return filepath.Join(t.Root, name) }

func (t *Tree) mkdir(name string) {
	if t.err == nil {
		t.err = os.MkdirAll(t.Path(name), 0o755)
	}
}

func (t *Tree) write(name, text string) {
	t.mkdir(filepath.Dir(name))
	if t.err == nil {
		t.err = os.WriteFile(t.Path(name), []byte(text), 0o644)
	}
}

// link makes a relative link from name to target, both below the root, as the kernel does.
func (t *Tree) link(name, target string) {
	relative, err := filepath.Rel(filepath.Dir(name), target)
	if t.err == nil {
		t.err = err
	}
	t.linkTo(name, relative)
}

func (t *Tree) linkTo(name, target string) {
	t.mkdir(filepath.Dir(name))
	if t.err != nil {
		return
	}
	if there, err := os.Readlink(t.Path(name)); err == nil && there == target {
		return
	}
	t.err = os.Symlink(target, t.Path(name))
}

// number writes a value unless it is None.
func (t *Tree) number(name string, v int64) {
	if v != None {
		t.write(name, fmt.Sprintf("%d\n", v))
	}
}

// text writes a line unless it is empty.
func (t *Tree) text(name, v string) {
	if v != "" {
		t.write(name, v+"\n")
	}
}

// levels writes a table of clock levels, with a star at the current one.
func (t *Tree) levels(name string, mhz []int, inUse int) {
	if len(mhz) == 0 {
		return
	}
	var b strings.Builder
	for i, v := range mhz {
		fmt.Fprintf(&b, "%d: %dMhz", i, v)
		if i == inUse {
			b.WriteString(" *")
		}
		b.WriteByte('\n')
	}
	t.write(name, b.String())
}
