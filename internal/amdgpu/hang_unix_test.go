// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package amdgpu

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// A FIFO without a writer stands in for a file of the driver that hangs.

// TestHungRead: the source waits once for a read that never returns. The other GPUs are read, and one goroutine stays behind however
// often the source is read.
func TestHungRead(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, gpu.GroupAll)
	read(t, source)
	busy := filepath.Join(tree.Root, "sys/class/drm/card0/device/gpu_busy_percent")
	require.NoError(t, os.Remove(busy))
	require.NoError(t, syscall.Mkfifo(busy, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	check := func(ctx context.Context) {
		node, err := source.Read(ctx)
		require.NoError(t, err)
		require.Len(t, node.Devices, 2)
		hung := &node.Devices[0]
		require.Len(t, hung.Faults, 1)
		assert.Equal(t, gpu.FaultHung, hung.Faults[0].Type)
		assert.Equal(t, "3a51e0c2d4b70010", hung.ID)
		assert.Equal(t, "card0", hung.Name)
		assert.False(t, hung.Memory.Limit.Known())
		assert.Equal(t, gpu.Some(0.81), node.Devices[1].Utilization[gpu.TaskGeneral])
		assert.Equal(t, gpu.Some[int64](1), node.Presence[gpu.Visible])
		assert.Equal(t, gpu.Some[int64](1), node.Presence[gpu.Missing])
		assert.Len(t, node.Processes, 1)
		assert.Nil(t, node.Failure, "the other GPU was read")
	}
	check(ctx)
	assert.Equal(t, 1, source.pool.Outstanding())
	for range 20 {
		check(t.Context()) // which has no deadline: what hung before is not waited for
	}
	// Once the read returns, the GPU is read again.
	release(t, busy)
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, os.Remove(busy))
	require.NoError(t, os.WriteFile(busy, []byte("7\n"), 0o600))
	node := read(t, source)
	assert.Equal(t, gpu.Some(0.07), node.Devices[0].Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.StateOK, node.Devices[0].State())
}

// release ends every wait to open a FIFO.
func release(t *testing.T, fifo string) {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestCloseDoesNotWait: neither Close nor the Read that it interrupts waits for a read that hangs.
func TestCloseDoesNotWait(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	busy := filepath.Join(tree.Root, "sys/class/drm/card0/device/gpu_busy_percent")
	require.NoError(t, os.Remove(busy))
	require.NoError(t, syscall.Mkfifo(busy, 0o600))
	began := make(chan struct{}, 2)
	done := make(chan error)
	source.readFile = func(path string) ([]byte, error) {
		_, name := splitPath(path)
		if name == "gpu_busy_percent" {
			began <- struct{}{}
		}
		return sysfs.Read(path)
	}
	go func() {
		_, err := source.Read(context.WithoutCancel(t.Context()))
		done <- err
	}()
	<-began // that of the first GPU, with which one goroutine begins
	require.NoError(t, source.Close())
	require.ErrorIs(t, <-done, errClosed)
	// The other GPU may be read at that moment.
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 1 }, time.Minute, time.Millisecond)
	release(t, busy)
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
	_, err := source.Read(t.Context())
	require.ErrorIs(t, err, errClosed)
}

// TestHungProcesses: to read a client's fdinfo takes a lock of its GPU's driver, and hangs where that does. What KFD shows is reported
// all the same, and so is every GPU.
func TestHungProcesses(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, gpu.GroupAll)
	info := tree.Path("proc/4242/fdinfo/20")
	require.NoError(t, os.Remove(info))
	require.NoError(t, syscall.Mkfifo(info, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	for _, ctx := range []context.Context{ctx, t.Context(), t.Context()} {
		node, err := source.Read(ctx)
		require.NoError(t, err)
		require.Len(t, node.Devices, 2)
		for i := range node.Devices {
			assert.Empty(t, node.Devices[i].Faults)
			assert.True(t, node.Devices[i].ProcessesUnread)
		}
		assert.Equal(t, []string{"processes"}, whats(node, ""))
		require.Len(t, node.Processes, 1)
		assert.Equal(t, gpu.Some[int64](19_000_000_000), node.Processes[0].Memory)
	}
	release(t, info)
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, os.Remove(info))
	rewrite(t, tree, 4242, 20, 17, amdgpusim.VRAM(20_000_000))
	var node *gpu.Node
	require.Eventually(t, func() bool { node = read(t, source); return len(node.Problems) == 0 }, time.Minute, time.Millisecond)
	require.Len(t, node.Processes, 1)
	assert.Equal(t, gpu.Some[int64](20_000_000<<10), node.Processes[0].Memory)
	assert.False(t, node.Devices[0].ProcessesUnread)
}

// TestHungKFD: the processes that have a GPU open are reported while the compute driver hangs.
func TestHungKFD(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI100(), gpu.GroupAll)
	memory, err := filepath.Glob(tree.Path("sys/class/kfd/kfd/proc/4242/vram_*"))
	require.NoError(t, err)
	require.NotEmpty(t, memory)
	require.NoError(t, os.Remove(memory[0]))
	require.NoError(t, syscall.Mkfifo(memory[0], 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	node, err := source.Read(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"processes"}, whats(node, ""))
	assert.Len(t, node.Processes, 1)
	assert.True(t, node.Devices[0].ProcessesUnread)
	release(t, memory[0])
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
}
