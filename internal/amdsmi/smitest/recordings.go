// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Recordings returns the files of a folder of recorded outputs, which are not part of the project.
func Recordings(t *testing.T, folder, pattern string) []string {
	t.Helper()
	root := os.Getenv("GPU_RECORDINGS")
	if root == "" {
		root = filepath.Join(testdata("."), "..", "..", "..", "..", "shared", "recordings")
	}
	files, err := filepath.Glob(filepath.Join(root, folder, pattern))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no recordings: GPU_RECORDINGS names no folder with %s/%s", folder, pattern)
	}
	return files
}
