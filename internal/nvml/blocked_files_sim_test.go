// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fifo is a file that does not answer, until release.
func fifo(t *testing.T, path string) (release func()) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	_ = os.Remove(path)
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return func() {
		f, err := os.OpenFile(path, os.O_RDWR, 0) // which need not wait for another end
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		require.NoError(t, f.Close())
	}
}

// The module's version is a hint alone: the driver can be read without it.
func TestBlockedVersion(t *testing.T) {
	b := start(t, "gpus = 2", func(c *Config) { c.KeepOpen = false })
	t.Cleanup(fifo(t, filepath.Join(b.proc, "driver/nvidia/version")))
	b.driver.machine.patience = time.Millisecond
	for range 3 {
		n := b.read()
		healthy(t, n, 2)
		assert.Nil(t, n.Failure)
	}
}

// A library without an end is not opened: while the loader waits for it, the process could start no threads.
func TestBlockedLibrary(t *testing.T) {
	if !inItsOwnProcess(t, "yes") {
		return
	}
	path := filepath.Join(t.TempDir(), libraryName)
	t.Cleanup(fifo(t, path))
	b := start(t, "gpus = 2", withLibrary(path))
	for range 3 {
		n := b.read()
		assert.Empty(t, ids(n))
		require.NotNil(t, n.Failure)
		assert.Equal(t, gpu.FailureLibrary, n.Failure.Reason)
		require.ErrorContains(t, n.Failure, path+": not a regular file")
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, exec.Command("cp", simulator(t).Full, path).Run())
	for range 2 { // it is loaded when it no longer changes
		b.clock = b.clock.Add(retryPolicy.Max)
		b.read()
	}
	healthy(t, b.read(), 2)
}
