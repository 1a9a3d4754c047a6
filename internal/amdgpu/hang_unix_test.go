// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package amdgpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/processes"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// A FIFO without a writer represents a file of the driver that hangs.

// TestHungRead: the source waits once for a read that never returns. The other GPUs are read, and one goroutine stays behind however
// often the source is read.
func TestHungRead(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, gpu.GroupAll)
	read(t, source)
	busy := filepath.Join(tree.Root, "sys/class/drm/card0/device/gpu_busy_percent")
	require.NoError(t, os.Remove(busy))
	require.NoError(t, syscall.Mkfifo(busy, 0o600))
	untilHung(t, source, source.readers[0].task)
	for range 20 {
		node := read(t, source)
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
	// Once the read returns, the GPU is read again.
	release(t, busy, "7\n")
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
	node := read(t, source)
	assert.Equal(t, gpu.Some(0.07), node.Devices[0].Utilization[gpu.TaskGeneral])
	assert.Equal(t, gpu.StateOK, node.Devices[0].State())
}

// TestSlowRead: a read that is slower than the time for it is not hung: it has not been outstanding for long. The GPU is unread.
func TestSlowRead(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	source.pool.HungAfter = time.Hour
	read(t, source)
	busy := filepath.Join(tree.Root, "sys/class/drm/card0/device/gpu_busy_percent")
	require.NoError(t, os.Remove(busy))
	require.NoError(t, syscall.Mkfifo(busy, 0o600))
	untilHung(t, source, source.readers[0].task)
	node := read(t, source)
	require.Len(t, node.Devices, 2)
	requireUnread(t, &node.Devices[0], "3a51e0c2d4b70010")
	assert.False(t, node.Devices[1].Unread)
	assert.Nil(t, node.Failure, "the other GPU was read")
	release(t, busy, "7\n")
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
	assert.Equal(t, gpu.StateOK, read(t, source).Devices[0].State())
}

// untilHung reads until calls of these tasks hang, and nothing else is outstanding. Reads do not wait for them from then on.
func untilHung(t *testing.T, source *Source, tasks ...*workers.Task) {
	t.Helper()
	free := func(task *workers.Task) bool { return !task.Busy() }
	readUntil(t, source, func(*gpu.Node) bool {
		return source.pool.Outstanding() == len(tasks) && !slices.ContainsFunc(tasks, free)
	})
}

// untilBlocked reads until so many reads of processes were given up, and nothing is outstanding.
func untilBlocked(t *testing.T, source *Source, reads int) {
	t.Helper()
	readUntil(t, source, func(node *gpu.Node) bool {
		blocked := 0
		for _, p := range node.Problems {
			if errors.Is(p.Err, processes.ErrBlocked) {
				blocked++
			}
		}
		return blocked == reads && source.pool.Outstanding() == 0
	})
}

// readUntil reads until a condition holds after a read, with deadlines that come soon at first, and later for a busy machine.
func readUntil(t *testing.T, source *Source, condition func(*gpu.Node) bool) {
	t.Helper()
	limit := 100 * time.Millisecond
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		limit = min(2*limit, 20*time.Second)
		node, err := source.Read(ctx)
		return err == nil && condition(node)
	}, 2*time.Minute, time.Millisecond)
}

// release lets the reads of a pipe return, and replaces it by a file.
func release(t *testing.T, fifo, text string) {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // which need not wait for another end
	require.NoError(t, err)
	require.NoError(t, os.Remove(fifo))
	require.NoError(t, os.WriteFile(fifo, []byte(text), 0o600))
	require.NoError(t, f.Close())
}

// TestCloseDoesNotWait: neither Close nor the Read that it interrupts waits for a read that hangs.
func TestCloseDoesNotWait(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	busy := filepath.Join(tree.Root, "sys/class/drm/card0/device/gpu_busy_percent")
	require.NoError(t, os.Remove(busy))
	require.NoError(t, syscall.Mkfifo(busy, 0o600))
	start := make(chan struct{}, 1)
	done := make(chan error)
	source.readFile = func(path string) ([]byte, error) {
		if address, name := splitPath(path); address == source.readers[0].address && name == "gpu_busy_percent" {
			start <- struct{}{}
		}
		return sysfs.Read(path)
	}
	go func() {
		_, err := source.Read(context.Background())
		done <- err
	}()
	<-start
	require.NoError(t, source.Close())
	require.ErrorIs(t, <-done, errClosed)
	// The other GPU may be read at that moment.
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 1 }, time.Minute, time.Millisecond)
	release(t, busy, "7\n")
	require.Eventually(t, func() bool { return source.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
	_, err := source.Read(t.Context())
	require.ErrorIs(t, err, errClosed)
}

// TestHungProcesses: a read of a client's fdinfo takes a lock of its GPU's driver, and hangs if the driver does. The processes of KFD are
// still reported, and so is every GPU.
func TestHungProcesses(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, gpu.GroupAll)
	info := tree.Path("proc/4242/fdinfo/20")
	require.NoError(t, os.Remove(info))
	require.NoError(t, syscall.Mkfifo(info, 0o600))
	untilBlocked(t, source, 1)
	for range 3 {
		node := read(t, source)
		require.Len(t, node.Devices, 2)
		for i := range node.Devices {
			assert.Empty(t, node.Devices[i].Faults)
			assert.True(t, node.Devices[i].ProcessesUnread)
		}
		assert.Equal(t, []string{"processes"}, whats(node, ""))
		require.Len(t, node.Processes, 1)
		assert.Equal(t, gpu.Some[int64](19_000_000_000), node.Processes[0].Memory)
	}
	release(t, info, "")
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
	untilBlocked(t, source, 1)
	node := read(t, source)
	assert.Equal(t, []string{"processes"}, whats(node, ""))
	assert.Len(t, node.Processes, 1)
	assert.True(t, node.Devices[0].ProcessesUnread)
	release(t, memory[0], "0\n")
}
