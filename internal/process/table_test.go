// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// table is a process table in a directory, of a machine that started at boot.
type table struct {
	t    *testing.T
	root string
}

var boot = time.Unix(1_700_000_000, 0)

// newTable returns the process table of a machine.
func newTable(t *testing.T) *table {
	t.Helper()
	p := &table{t: t, root: filepath.Join(t.TempDir(), "proc")}
	p.write("stat", "cpu  1 2 3\nintr 7 8\nctxt 9\nbtime 1700000000\nprocesses 4\n")
	p.write("1/stat", statLine(1, "systemd", 0x400100, 1))
	p.namespace(firstNamespace)
	return p
}

func (p *table) write(name, content string) {
	p.t.Helper()
	file := filepath.Join(p.root, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(p.t, os.WriteFile(file, []byte(content), 0o600))
}

func (p *table) link(name, target string) {
	p.t.Helper()
	file := filepath.Join(p.root, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
	_ = os.Remove(file)
	require.NoError(p.t, os.Symlink(target, file))
}

// namespace sets the PID namespace of this process.
func (p *table) namespace(link string) { p.link("self/ns/pid", link) }

func (p *table) passwd(content string) {
	p.t.Helper()
	directory := filepath.Join(filepath.Dir(p.root), "etc")
	require.NoError(p.t, os.MkdirAll(directory, 0o755))
	require.NoError(p.t, os.WriteFile(filepath.Join(directory, "passwd"), []byte(content), 0o600))
}

func statLine(pid int, name string, flags uint64, start uint64) string {
	return fmt.Sprintf("%d (%s) S 1 %d %d 0 -1 %d 100 0 0 0 5 6 0 0 20 0 1 0 %d 1024 10 18446744073709551615 1 1 0 0\n",
		pid, name, pid, pid, flags, start)
}

// process adds a process that started so many seconds after boot.
func (p *table) process(pid int, name string, second uint64, exe string, args ...string) {
	p.t.Helper()
	directory := strconv.Itoa(pid) + "/"
	p.write(directory+"stat", statLine(pid, name, 0x400000, second*ticksPerSecond))
	p.write(directory+"status", "Name:\t"+name+"\nUmask:\t0022\nUid:\t0\t1000\t0\t1000\nGid:\t1\t1\t1\t1\n")
	p.write(directory+"cgroup", "0::/system.slice/"+name+".service\n")
	p.write(directory+"cmdline", strings.Join(args, "\x00")+"\x00")
	p.link(directory+"exe", exe)
}

// remove removes a file, or a process with its files. An open stat file of a process that has ended cannot be read, so it is emptied.
func (p *table) remove(name string) {
	p.t.Helper()
	_ = os.Truncate(filepath.Join(p.root, name, "stat"), 0)
	require.NoError(p.t, os.RemoveAll(filepath.Join(p.root, name)))
}

// newReader returns a Reader that no machine is too busy for.
func newReader(root string, options ...Option) *Reader {
	return New(root, append(options, WithPatience(time.Hour))...)
}

func nodeOf(pids ...int64) *gpu.Node {
	node := &gpu.Node{}
	for _, pid := range pids {
		node.Processes = append(node.Processes, gpu.Process{PID: pid, DeviceID: "GPU-1"})
	}
	return node
}

func describe(r *Reader, pids ...int64) *gpu.Node {
	node := nodeOf(pids...)
	r.Describe(node)
	return node
}
