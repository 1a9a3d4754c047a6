// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	_, err := Read(path)
	assert.Equal(t, syscall.ENOENT, err, "the bare answer")
	require.NoError(t, os.WriteFile(path, []byte("7\n"), 0o600))
	text, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, "7\n", string(text))
	require.NoError(t, os.WriteFile(path, make([]byte, 2*maxFile), 0o600))
	text, err = Read(path)
	require.NoError(t, err)
	assert.Len(t, text, maxFile)
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	names, err := Names(dir, 10)
	require.NoError(t, err)
	assert.Empty(t, names)
	for i := range 20 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d", i)), nil, 0o600))
	}
	names, err = Names(dir, 10)
	require.NoError(t, err)
	assert.Len(t, names, 10)
	names, err = Names(dir, 30)
	require.NoError(t, err)
	slices.Sort(names)
	require.Len(t, names, 20)
	assert.Equal(t, "file19", names[19])
	_, err = Names(filepath.Join(dir, "other"), 10)
	assert.Equal(t, syscall.ENOENT, err, "the bare answer")
}

func TestFileLimit(t *testing.T) {
	require.NoError(t, FileLimit(nil))
	require.NoError(t, FileLimit(syscall.ENOENT))
	require.ErrorIs(t, FileLimit(&os.PathError{Err: syscall.EMFILE}), syscall.EMFILE)
	require.ErrorContains(t, FileLimit(syscall.ENFILE), "raise the limit")
}
