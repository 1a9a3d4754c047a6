// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Recordings returns the files of a directory of recorded outputs below $GPU_RECORDINGS. Recordings are not part of the project.
func Recordings(t *testing.T, directory, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("GPU_RECORDINGS"), directory, pattern))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no recordings: GPU_RECORDINGS names no directory with %s/%s", directory, pattern)
	}
	return files
}
