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
)

// hang adds a process whose command line cannot be read, like that of a process that hangs in the driver. The returned
// function makes the read return.
func (p *table) hang(pid int) (release func()) {
	p.t.Helper()
	p.process(pid, "stuck", 1, "/bin/stuck")
	pipe := filepath.Join(p.root, strconv.Itoa(pid), "cmdline")
	require.NoError(p.t, os.Remove(pipe))
	require.NoError(p.t, unix.Mkfifo(pipe, 0o600))
	return func() {
		p.t.Helper()
		require.Eventually(p.t, func() bool {
			// This fails until there is a reader.
			f, err := os.OpenFile(pipe, os.O_WRONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				return false
			}
			_, err = f.WriteString("late\x00")
			return err == nil && f.Close() == nil
		}, 10*time.Second, time.Millisecond)
	}
}

func TestDescribeHungRead(t *testing.T) {
	p := newTable(t)
	release := p.hang(10)
	p.process(11, "b", 1, "/bin/b", "b")
	r := New(p.root)
	r.details.wait = 20 * time.Millisecond

	node := describe(r, 10, 11)
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "stuck", node.Processes[0].Executable, "the details of its stat file")
	assert.Empty(t, node.Processes[0].Command)

	r.details.wait = time.Minute // for a read that does not hang, however slow the machine
	node = describe(r, 10, 11)
	assert.Empty(t, node.Problems)
	assert.Equal(t, "b", node.Processes[1].Command, "the next Describe reads the next process")
	assert.Empty(t, node.Processes[0].Command, "the stuck one is not read again")

	release()
	require.Eventually(t, func() bool { return describe(r, 10).Processes[0].Command == "late" },
		10*time.Second, time.Millisecond)
}

func TestDescribeManyHungReads(t *testing.T) {
	p := newTable(t)
	r := New(p.root)
	r.details.wait = 5 * time.Millisecond
	var releases []func()
	for pid := 10; pid < 10+maxStuck; pid++ {
		releases = append(releases, p.hang(pid))
		require.Len(t, describe(r, int64(pid)).Problems, 1)
	}
	p.process(50, "b", 1, "/bin/b", "b")
	node := describe(r, 50)
	require.Len(t, node.Problems, 1, "no further read begins")
	require.ErrorContains(t, node.Problems[0].Err, "have not returned")
	assert.Empty(t, node.Processes[0].Command)

	for _, release := range releases {
		release()
	}
	require.Eventually(t, func() bool { return describe(r, 50).Processes[0].Command == "b" },
		10*time.Second, time.Millisecond)
}
