// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

const onlyProcesses = gpu.GroupProcesses | gpu.GroupProcessUtilization

// rewrite writes the fdinfo of a client.
func rewrite(t *testing.T, tree *amdgpusim.Tree, pid, fd int, client uint64, lines ...string) {
	t.Helper()
	text := fmt.Sprintf("drm-driver:\tamdgpu\ndrm-client-id:\t%d\n%s\n", client, strings.Join(lines, "\n"))
	require.NoError(t, os.WriteFile(tree.Path(fmt.Sprintf("proc/%d/fdinfo/%d", pid, fd)), []byte(text), 0o600))
}

// TestClientsCountOnce: duplicates of an open file, in its own process and in another, are one client.
func TestClientsCountOnce(t *testing.T) {
	tree, source, clock := simulate(t, amdgpusim.Radeon(), onlyProcesses)
	node := read(t, source)
	require.Len(t, node.Processes, 1)
	p := node.Processes[0]
	assert.Equal(t, int64(1201), p.PID)
	assert.Equal(t, gpu.ProcessGraphics, p.Type)
	assert.Equal(t, gpu.Some[int64](5_600_000<<10), p.Memory)
	assert.Empty(t, p.Utilization, "one read does not show times")

	clock.pass(10 * time.Second)
	lines := []string{
		amdgpusim.VRAM(1000), amdgpusim.Engine("gfx", 45_000_000_000), amdgpusim.Engine("compute", 1_000_000_000),
		amdgpusim.Engine("dec", 4_500_000_000), amdgpusim.Engine("enc", 1_500_000_000), amdgpusim.Engine("enc_1", 500_000_000),
		amdgpusim.Engine("jpeg", 30_000_000_000), amdgpusim.Engine("dma", 900_000_000_000),
	}
	rewrite(t, tree, 1201, 17, 91, lines...)
	rewrite(t, tree, 1201, 18, 91, lines...)
	rewrite(t, tree, 1202, 5, 91, lines...)
	node = read(t, source)
	require.Len(t, node.Processes, 1)
	p = node.Processes[0]
	assert.Equal(t, gpu.ProcessComputeGraphics, p.Type)
	assert.Equal(t, gpu.Some[int64](1000<<10), p.Memory)
	assert.InDelta(t, 0.5, value64(t, p.Utilization[gpu.TaskGeneral]), 1e-9, "4 s of graphics and 1 s of compute in 10 s")
	assert.InDelta(t, 0.25, value64(t, p.Utilization[gpu.TaskDecoder]), 1e-9)
	assert.InDelta(t, 0.1, value64(t, p.Utilization[gpu.TaskEncoder]), 1e-9, "both kinds of encoder rings")
	assert.InDelta(t, 1, value64(t, p.Utilization[gpu.TaskJPEG]), 1e-9, "no more than all of the time")
}

func value64(t *testing.T, v gpu.Opt[float64]) float64 {
	t.Helper()
	f, ok := v.Get()
	require.True(t, ok)
	return f
}

// TestClientsOfOneProcess: the times of the clients of a process add up. A new client counts from 0.
func TestClientsOfOneProcess(t *testing.T) {
	tree, source, clock := simulate(t, amdgpusim.Radeon(), onlyProcesses)
	read(t, source)
	clock.pass(10 * time.Second)
	rewrite(t, tree, 1201, 17, 91, amdgpusim.VRAM(1000), amdgpusim.Engine("gfx", 42_000_000_000))
	rewrite(t, tree, 1201, 18, 92, amdgpusim.VRAM(500), amdgpusim.Engine("gfx", 3_000_000_000))
	rewrite(t, tree, 1202, 5, 91)
	node := read(t, source)
	require.Len(t, node.Processes, 1)
	assert.Equal(t, gpu.Some[int64](1500<<10), node.Processes[0].Memory)
	assert.InDelta(t, 0.4, value64(t, node.Processes[0].Utilization[gpu.TaskGeneral]), 1e-9)

	// A counter that falls has begun again. A process that has ended is gone.
	clock.pass(10 * time.Second)
	rewrite(t, tree, 1201, 17, 91, amdgpusim.VRAM(1000), amdgpusim.Engine("gfx", 1))
	rewrite(t, tree, 1201, 18, 92, amdgpusim.VRAM(500), amdgpusim.Engine("gfx", 3_000_000_000))
	node = read(t, source)
	require.Len(t, node.Processes, 1)
	assert.Zero(t, value64(t, node.Processes[0].Utilization[gpu.TaskGeneral]))
	require.NoError(t, os.RemoveAll(tree.Path("proc/1201")))
	require.NoError(t, os.RemoveAll(tree.Path("proc/1202")))
	assert.Empty(t, read(t, source).Processes)
}

// TestComputeProcesses: for the queues of the compute driver only the busy compute units are known.
func TestComputeProcesses(t *testing.T) {
	tree, source, clock := simulate(t, amdgpusim.MI300XCPX(), onlyProcesses)
	for range 2 {
		node := read(t, source)
		require.Len(t, node.Processes, 2)
		assert.Equal(t, gpu.Process{
			PID: 8000, DeviceID: "a1b2c3d4e5f60000/0", Type: gpu.ProcessCompute, Memory: gpu.Some[int64](900_000_000),
			Utilization: [gpu.NumTasks]gpu.Opt[float64]{gpu.TaskGeneral: gpu.Some(0.5)}, // 19 of 38 units
		}, node.Processes[0])
		assert.Equal(t, "a1b2c3d4e5f60000/3", node.Processes[1].DeviceID)
		clock.pass(30 * time.Second)
	}
	// Further contexts of a process have their own directories. A process does not use a GPU on which it has no memory.
	dir := tree.Path("sys/devices/virtual/kfd/kfd/proc/8000")
	require.NoError(t, os.MkdirAll(dir+"/context_1", 0o750))
	require.NoError(t, os.WriteFile(dir+"/context_1/vram_41001", []byte("100000000\n"), 0o600))
	require.NoError(t, os.WriteFile(dir+"/vram_41006", []byte("0\n"), 0o600))
	require.NoError(t, os.WriteFile(dir+"/vram_41007", []byte("5\n"), 0o600))
	require.NoError(t, os.WriteFile(dir+"/vram_99", []byte("5\n"), 0o600))
	node := read(t, source)
	require.Len(t, node.Processes, 3)
	assert.Equal(t, gpu.Some[int64](1_000_000_000), node.Processes[0].Memory)
	assert.Equal(t, "a1b2c3d4e5f60000/6", node.Processes[1].DeviceID)
	assert.Equal(t, gpu.Some[int64](5), node.Processes[1].Memory)
	assert.Empty(t, node.Problems)
}

// TestOpenIsNotUsed: ROCm opens every GPU that it finds.
func TestOpenIsNotUsed(t *testing.T) {
	m := amdgpusim.MI100()
	m.Processes[0].Files = append(m.Processes[0].Files, amdgpusim.File{
		FD: 44, Target: "/dev/dri/renderD129", Client: &amdgpusim.Client{ID: 18, Address: m.Cards[1].Address, Keys: []string{amdgpusim.VRAM(0)}},
	})
	_, source, _ := simulate(t, m, onlyProcesses)
	node := read(t, source)
	require.Len(t, node.Processes, 1)
	assert.Equal(t, node.Devices[0].ID, node.Processes[0].DeviceID)
	assert.False(t, node.Devices[1].ProcessesUnread)
}

// TestSystemMemoryIsNoVRAM: what a process has in the machine's memory is not counted as the GPU's. On an APU it is a value of its own, also
// if the process has nothing else. A process that has only opened the GPU is left out.
func TestSystemMemoryIsNoVRAM(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.APU(), onlyProcesses|gpu.GroupMemory)
	node := read(t, source)
	require.Len(t, node.Processes, 2)
	p := &node.Processes[0]
	assert.Equal(t, gpu.Some[int64](81_920<<10), p.Memory)
	assert.Equal(t, gpu.Some[int64](300_000<<10), p.SystemMemory)
	assert.Equal(t, gpu.Location{PCIAddress: "0000:c4:00.0"}, p.Location)
	p = &node.Processes[1]
	assert.Equal(t, int64(902), p.PID)
	assert.Equal(t, gpu.Some[int64](0), p.Memory, "the compute driver's number is of system memory")
	assert.Equal(t, gpu.Some[int64](10<<30), p.SystemMemory)
	assert.Equal(t, gpu.Some[int64](536870912), node.Devices[0].Memory.Limit)
	assert.Equal(t, gpu.Some[int64](210_000_000), node.Devices[0].Memory.Usage)
}

// TestSystemMemoryOfOthers: it is not reported for a GPU with its own memory. If fdinfo cannot be read, KFD has the memory.
func TestSystemMemoryOfOthers(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.MI100(), onlyProcesses)
	p := read(t, source).Processes[0]
	assert.True(t, p.Memory.Known())
	assert.False(t, p.SystemMemory.Known())

	tree, source, _ := simulate(t, amdgpusim.APU(), onlyProcesses)
	require.NoError(t, os.RemoveAll(tree.Path("proc")))
	node := read(t, source)
	require.Len(t, node.Processes, 1)
	assert.Equal(t, gpu.Some[int64](10<<30), node.Processes[0].Memory)
	assert.False(t, node.Processes[0].SystemMemory.Known())
}

// TestProcessTimes: the times of the compute driver are read if they are wanted.
func TestProcessTimes(t *testing.T) {
	for want, known := range map[gpu.Group]bool{onlyProcesses: false, gpu.GroupProcesses | gpu.GroupProcessTimes: true} {
		tree, source, _ := simulate(t, amdgpusim.MI100(), want)
		p := read(t, source).Processes[0]
		if !known {
			assert.False(t, p.SDMATime.Known() || p.EvictedTime.Known())
			continue
		}
		assert.Equal(t, gpu.Total(1.5), p.SDMATime)
		assert.Equal(t, gpu.Total(0.25), p.EvictedTime)
		require.NoError(t, os.WriteFile(tree.Path("sys/class/kfd/kfd/proc/4242/sdma_21001"), []byte("18446744073709551615\n"), 0o600))
		require.NoError(t, os.Remove(tree.Path("sys/class/kfd/kfd/proc/4242/stats_21001/evicted_ms")))
		p = read(t, source).Processes[0]
		assert.False(t, p.SDMATime.Known() || p.EvictedTime.Known(), "all bits, and an earlier kernel")
	}
}

func TestNoProcessTable(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI100(), onlyProcesses)
	require.NoError(t, os.RemoveAll(tree.Path("proc")))
	node := read(t, source)
	assert.Equal(t, []string{"processes"}, whats(node, ""))
	assert.True(t, node.HasProblem(gpu.ProblemProcesses))
	require.Len(t, node.Processes, 1, "KFD shows it")
	assert.Equal(t, gpu.Some[int64](19_000_000_000), node.Processes[0].Memory)
}

// TestProcessesOfOlderKernels: the kernels 5.14 to 5.18 write fdinfo without drm- keys. Its memory is read. Its times are not known.
func TestProcessesOfOlderKernels(t *testing.T) {
	m := amdgpusim.Radeon()
	tree, source, clock := simulate(t, m, onlyProcesses)
	write := func(pid, fd int, pasid int, kb int64) {
		text := fmt.Sprintf("pos:\t0\nflags:\t02100002\nmnt_id:\t26\npdev:\t%s\npasid:\t%d\nvram mem:\t%d kB\ngtt mem:\t9 kB\ncpu mem:\t0 kB\ngfx0:\t3.10%%\n",
			m.Cards[0].Address, pasid, kb)
		require.NoError(t, os.WriteFile(tree.Path(fmt.Sprintf("proc/%d/fdinfo/%d", pid, fd)), []byte(text), 0o600))
	}
	for range 2 {
		write(1201, 17, 32770, 1000)
		write(1201, 18, 32771, 500)
		write(1202, 5, 32770, 1000)
		node := read(t, source)
		assert.Empty(t, node.Problems)
		require.Len(t, node.Processes, 1)
		assert.Equal(t, int64(1201), node.Processes[0].PID)
		assert.Equal(t, gpu.Some[int64](1500<<10), node.Processes[0].Memory)
		assert.Empty(t, node.Processes[0].Utilization, "no times, which is not 0")
		clock.pass(10 * time.Second)
	}
}
