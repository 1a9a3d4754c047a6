// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const otherNamespace = "pid:[4026532468]"

// A container's own process table has other processes under the PIDs that the driver reports.
func TestContainersProcessTable(t *testing.T) {
	p := newTable(t)
	p.namespace(otherNamespace)
	p.process(2, "kthreadd", 1, "/bin/kthreadd", "kthreadd") // its name proves nothing
	p.process(10, "a", 1, "/bin/a", "a")
	r := newReader(p.root)

	for range 2 {
		node := describe(r, 10)
		require.Len(t, node.Problems, 1, "reported at each read, so that it is logged once while it lasts")
		assert.Equal(t, gpu.ProblemProcessTable, node.Problems[0].Kind)
		require.ErrorIs(t, node.Problems[0].Err, errNamespace)
		require.ErrorContains(t, node.Problems[0].Err, "hostPID: true")
		assert.Equal(t, nodeOf(10).Processes, node.Processes)
	}
	assert.Len(t, describe(r).Problems, 1, "also while nothing uses a GPU")
}

func TestMountedProcessTable(t *testing.T) {
	p := newTable(t)
	p.namespace(otherNamespace)
	p.write("2/stat", statLine(2, "kthreadd", kernelThread|0x40, 0))
	p.process(10, "a", 1, "/bin/a", "a")
	node := describe(newReader(p.root), 10)
	assert.Empty(t, node.Problems)
	assert.Equal(t, "a", node.Processes[0].Executable)
}

// NVIDIA's driver lists the processes in the PID namespace of the caller, whatever process table is mounted there.
func TestMountedProcessTableIsNotAll(t *testing.T) {
	p := newTable(t)
	p.namespace(otherNamespace)
	p.write("2/stat", statLine(2, "kthreadd", kernelThread|0x40, 0))
	p.process(10, "a", 1, "/bin/a", "a")
	r := newReader(p.root)
	read := func(vendor gpu.Vendor, pids ...int64) []gpu.Problem {
		node := nodeOf(pids...)
		node.Vendor = vendor
		r.Describe(node)
		return node.Problems
	}
	problems := read(gpu.NVIDIA)
	require.Len(t, problems, 1)
	assert.Equal(t, gpu.ProblemProcessTable, problems[0].Kind)
	require.ErrorContains(t, problems[0].Err, "hostPID: true")
	assert.Empty(t, read(gpu.NVIDIA, 10), "an older driver lists all processes")
	assert.Empty(t, read(gpu.AMD), "KFD lists all processes")

	p.namespace(firstNamespace)
	r = newReader(p.root)
	assert.Empty(t, read(gpu.NVIDIA))
}

// The machine can hide processes of other users. Visible processes are described, and a problem reports that there are more.
func TestHiddenProcesses(t *testing.T) {
	p := newTable(t)
	p.process(10, "a", 1, "/bin/a", "a")
	require.Empty(t, describe(newReader(p.root), 10).Problems)
	p.remove("1/stat")
	r := newReader(p.root)
	for range 2 {
		node := describe(r, 10, 11)
		require.Len(t, node.Problems, 1)
		assert.Equal(t, gpu.ProblemProcessTable, node.Problems[0].Kind)
		require.ErrorContains(t, node.Problems[0].Err, "hidepid")
		assert.Equal(t, "a", node.Processes[0].Executable)
	}
}

func TestNestedNamespace(t *testing.T) {
	p := newTable(t)
	p.namespace(otherNamespace)
	p.process(10, "a", 1, "/bin/a", "a")
	node := describe(newReader(p.root, WithAnyNamespace()), 10)
	assert.Empty(t, node.Problems)
	assert.Equal(t, "a", node.Processes[0].Executable)
}

func TestNoProcessTable(t *testing.T) {
	r := newReader(t.TempDir() + "/nothing")
	node := describe(r, 10)
	require.Len(t, node.Problems, 1)
	assert.ErrorContains(t, node.Problems[0].Err, "mount the machine's /proc")
}

// The process table can be mounted late.
func TestProcessTableAppears(t *testing.T) {
	p := newTable(t)
	p.namespace(otherNamespace)
	p.process(10, "a", 1, "/bin/a", "a")
	r := newReader(p.root)
	require.Len(t, describe(r, 10).Problems, 1)
	p.namespace(firstNamespace)
	node := describe(r, 10)
	assert.Empty(t, node.Problems)
	assert.Equal(t, "a", node.Processes[0].Executable)
}

// Whatever a process table has, processes are described only if it is the machine's: this process is in the first PID namespace, or the
// table has the kernel's own thread as PID 2.
func FuzzNamespace(f *testing.F) {
	own := []byte(statLine(10, "a", 0, 1))
	f.Add(firstNamespace, []byte(nil), own)
	f.Add(otherNamespace, []byte(statLine(kthreadd, "kthreadd", kernelThread|0x40, 0)), own)
	f.Add(otherNamespace, []byte(statLine(kthreadd, "kthreadd", 0x400000, 7)), own)
	f.Add(firstNamespace+" (deleted)", []byte("2 (a) S 1 1"), own)
	f.Add("", []byte("2 (kthreadd) S 0 0 0 0 -1 18446744073709551616 0"), []byte("10 (a"))
	f.Fuzz(func(t *testing.T, namespace string, second, tenth []byte) {
		root := t.TempDir()
		for _, directory := range []string{"self/ns", "2", "10"} {
			require.NoError(t, os.MkdirAll(filepath.Join(root, directory), 0o755))
		}
		linked := namespace != "" && len(namespace) < 256 && !strings.Contains(namespace, "\x00")
		if linked {
			require.NoError(t, os.Symlink(namespace, filepath.Join(root, "self/ns/pid")))
		}
		require.NoError(t, os.WriteFile(filepath.Join(root, "2/stat"), second, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(root, "10/stat"), tenth, 0o600))

		first, err := checkNamespace(root)
		assert.Equal(t, linked && namespace == firstNamespace, first)
		if err == nil && !first {
			s, err := parseStat(second[:min(len(second), maxStat)])
			require.NoError(t, err)
			assert.NotZero(t, s.flags&kernelThread)
		}
		node := describe(newReader(root), 10)
		if err != nil {
			require.Len(t, node.Problems, 1)
			assert.Equal(t, nodeOf(10).Processes, node.Processes, "nothing is said about processes of another machine")
		}
	})
}
