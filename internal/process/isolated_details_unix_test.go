// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/otelgpu/gpureceiver/internal/workers"
)

// hang adds a process whose command line cannot be read, like a process that hangs in the driver. The returned function makes the read
// return, and replaces the file by one that answers.
func (p *table) hang(pid int) (release func()) {
	p.t.Helper()
	p.process(pid, "stuck", 1, "/bin/stuck")
	pipe := filepath.Join(p.root, strconv.Itoa(pid), "cmdline")
	require.NoError(p.t, os.Remove(pipe))
	require.NoError(p.t, unix.Mkfifo(pipe, 0o600))
	return func() { p.release(pipe, "late\x00") }
}

// release makes the read of a pipe return, and replaces it by a file.
func (p *table) release(pipe, text string) {
	p.t.Helper()
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // which need not wait for another end
	require.NoError(p.t, err)
	require.NoError(p.t, os.Remove(pipe))
	require.NoError(p.t, os.WriteFile(pipe, []byte(text), 0o600))
	require.NoError(p.t, f.Close())
}

// await waits until a file that does not answer is being read.
func await(t *testing.T, reads *workers.Isolation) {
	t.Helper()
	require.Eventually(t, func() bool { return reads.Outstanding() == 1 }, time.Minute, time.Millisecond)
}

// TestDescribeHungRead: only the process whose command line does not answer is left out.
func TestDescribeHungRead(t *testing.T) {
	p := newTable(t)
	release := p.hang(10)
	p.process(11, "b", 1, "/bin/b", "b")
	r := newReader(p.root)
	require.Error(t, r.details.readAll(t.Context(), []*process{{pid: 10, start: ticksPerSecond, name: "stuck"}}, boot), "it is given up")
	await(t, &r.details.isolation)
	for range 3 {
		node := describe(r, 10, 11)
		require.Len(t, node.Problems, 1, "as long as it holds")
		require.ErrorContains(t, node.Problems[0].Err, "the details of 1 processes did not answer in time, of [10] first")
		assert.Equal(t, "stuck", node.Processes[0].Executable, "the details of its stat file")
		assert.Empty(t, node.Processes[0].Command)
		assert.Equal(t, "b", node.Processes[1].Command)
	}
	release()
	require.Eventually(t, func() bool { return describe(r, 10).Processes[0].Command == "late" },
		time.Minute, time.Millisecond)
}

// TestDescribeHungStat: a process whose stat file does not answer is described as before.
func TestDescribeHungStat(t *testing.T) {
	p := newTable(t)
	p.process(10, "a", 1, "/bin/a", "a")
	p.process(11, "b", 1, "/bin/b", "b")
	known, fresh := newReader(p.root), newReader(p.root)
	describe(known, 10, 11)
	known.Close() // no stat file is open
	pipe := filepath.Join(p.root, "10", "stat")
	text, err := os.ReadFile(pipe)
	require.NoError(t, err)
	require.NoError(t, os.Remove(pipe))
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	for _, r := range []*Reader{known, fresh} {
		_, err = r.known.look(t.Context(), []int64{10}, boot)
		require.Error(t, err, "it is given up")
		await(t, &r.known.isolation)
	}
	for range 3 {
		for r, command := range map[*Reader]string{known: "a", fresh: ""} {
			node := describe(r, 10, 11)
			require.Len(t, node.Problems, 1)
			require.ErrorContains(t, node.Problems[0].Err, "the stat of 1 processes did not answer in time, of [10] first")
			assert.Equal(t, command, node.Processes[0].Command)
			assert.Equal(t, "b", node.Processes[1].Command)
		}
	}
	p.release(pipe, string(text))
	for _, r := range []*Reader{known, fresh} {
		require.Eventually(t, func() bool {
			node := describe(r, 10)
			return len(node.Problems) == 0 && node.Processes[0].Command == "a"
		}, time.Minute, time.Millisecond)
	}
}

// TestCloseWhileReading: Close does not wait for a file that does not answer.
func TestCloseWhileReading(t *testing.T) {
	p := newTable(t)
	release := p.hang(10)
	r := newReader(p.root)
	done := make(chan struct{})
	go func() {
		defer close(done)
		describe(r, 10)
	}()
	await(t, &r.details.isolation)
	r.Close()
	<-done
	release()
}
