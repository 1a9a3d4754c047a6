// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openFiles returns the number of open stat files of some processes. Other files do not count: the garbage collector closes the files of
// other tests at any time.
func openFiles(t *testing.T, pids []int64) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	n := 0
	for _, entry := range entries {
		target, _ := os.Readlink("/proc/self/fd/" + entry.Name())
		for _, pid := range pids {
			if strings.HasPrefix(target, fmt.Sprintf("/proc/%d/stat", pid)) {
				n++
			}
		}
	}
	return n
}

func TestStatFilesAreClosed(t *testing.T) {
	r := newReader("", WithAnyNamespace(), WithCgroup())
	all, pids := startShells(t, 4)
	for range 3 {
		assert.NotEmpty(t, describe(r, pids...).Processes[0].Executable)
		assert.Equal(t, 4, openFiles(t, pids), "one for each process, however often it is described")
	}
	all[0].rename("another")
	describe(r, pids...)
	assert.Equal(t, 4, openFiles(t, pids), "a process with another name keeps its file")

	all[1].kill()
	node := describe(r, pids...)
	assert.Empty(t, node.Processes[1].Executable)
	assert.NotEmpty(t, node.Processes[2].Executable)
	assert.Equal(t, 3, openFiles(t, pids), "the file of an ended process is closed")
	assert.Equal(t, 3, r.known.open)

	r.Close()
	assert.Zero(t, r.known.open)
	assert.Zero(t, openFiles(t, pids))
	assert.NotEmpty(t, describe(r, pids...).Processes[2].Executable, "a closed Reader still describes")
	assert.Zero(t, r.known.open)
}

func TestStatFileBelongsToOneProcess(t *testing.T) {
	all, pids := startShells(t, 1)
	f := readStat(defaultRoot, pids[0], nil)
	require.NoError(t, f.err)
	defer func() { _ = f.file.Close() }()
	assert.Equal(t, "before", string(f.name))
	all[0].kill()
	_, err := readStatFile(f.file)
	require.Error(t, err, "whatever process has the PID now")
}

func TestNoMoreOpenStatFilesThanAllowed(t *testing.T) {
	r := newReader("", WithAnyNamespace())
	r.known.open = maxOpen
	assert.NotEmpty(t, describe(r, int64(os.Getpid())).Processes[0].Executable)
	assert.Equal(t, maxOpen, r.known.open)
}
