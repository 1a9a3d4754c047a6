// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The library is being copied while the collector reads: the process survives, and the library is loaded when its file no longer changes.
func TestLibraryIsBeingCopied(t *testing.T) {
	if !inItsOwnProcess(t, "yes") {
		return
	}
	whole, err := os.ReadFile(simulator(t).Full)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), libraryName)
	b := start(t, "gpus = 2", withLibrary(path))
	for _, percent := range []int{10, 50, 90, 99} {
		writeFile(t, path, string(whole[:len(whole)*percent/100]))
		b.clock = b.clock.Add(retryPolicy.Max)
		n := b.read()
		assert.Empty(t, ids(n))
		require.ErrorContains(t, problem(t, n, "library").Err, "the file is incomplete", "%d %%", percent)
		assert.Equal(t, gpu.FailureLibrary, n.Failure.Reason)
	}
	writeFile(t, path, string(whole))
	n := b.read()
	assert.Empty(t, ids(n))
	require.ErrorContains(t, problem(t, n, "library").Err, "it is loaded when it no longer changes")
	assert.Equal(t, gpu.FailureLibrary, n.Failure.Reason)
	n = b.read()
	healthy(t, n, 2)
	assert.Empty(t, n.Problems)
	assert.Nil(t, n.Failure)
}
