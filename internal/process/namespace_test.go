// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
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
	r := New(p.root)

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
	node := describe(New(p.root), 10)
	assert.Empty(t, node.Problems)
	assert.Equal(t, "a", node.Processes[0].Executable)
}

// NVIDIA's driver lists the processes in the PID namespace of the caller, whatever process table is mounted there.
func TestMountedProcessTableIsNotAll(t *testing.T) {
	p := newTable(t)
	p.namespace(otherNamespace)
	p.write("2/stat", statLine(2, "kthreadd", kernelThread|0x40, 0))
	p.process(10, "a", 1, "/bin/a", "a")
	r := New(p.root)
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
	r = New(p.root)
	assert.Empty(t, read(gpu.NVIDIA))
}

// The machine can hide processes of other users. Visible processes are described, and a problem reports that there are more.
func TestHiddenProcesses(t *testing.T) {
	p := newTable(t)
	p.process(10, "a", 1, "/bin/a", "a")
	require.Empty(t, describe(New(p.root), 10).Problems)
	p.remove("1/stat")
	r := New(p.root)
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
	node := describe(New(p.root, WithAnyNamespace()), 10)
	assert.Empty(t, node.Problems)
	assert.Equal(t, "a", node.Processes[0].Executable)
}

func TestNoProcessTable(t *testing.T) {
	r := New(t.TempDir() + "/nothing")
	node := describe(r, 10)
	require.Len(t, node.Problems, 1)
	assert.ErrorContains(t, node.Problems[0].Err, "mount the machine's /proc")
}

// The process table can be mounted late.
func TestProcessTableAppears(t *testing.T) {
	p := newTable(t)
	p.namespace(otherNamespace)
	p.process(10, "a", 1, "/bin/a", "a")
	r := New(p.root)
	require.Len(t, describe(r, 10).Problems, 1)
	p.namespace(firstNamespace)
	node := describe(r, 10)
	assert.Empty(t, node.Problems)
	assert.Equal(t, "a", node.Processes[0].Executable)
}
