// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownExecutable creates an executable file with the tool's name in a directory of its own and returns its path.
func ownExecutable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), executable(NvidiaSMI))
	require.NoError(t, os.WriteFile(path, nil, 0o700))
	return path
}

func TestValidatePath(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		path string
		want string
	}{
		"empty":      {path: ""},
		"absolute":   {path: filepath.Join(dir, executable(NvidiaSMI))},
		"relative":   {path: "bin/" + executable(NvidiaSMI), want: "must be an absolute path that ends with nvidia-smi"},
		"other name": {path: filepath.Join(dir, "rm"), want: "no other program is run"},
		"longer":     {path: filepath.Join(dir, executable(NvidiaSMI)+"-wrapper"), want: "must end with nvidia-smi"},
		"folder":     {path: filepath.Join(dir, executable(NvidiaSMI)) + string(filepath.Separator), want: "must end with nvidia-smi"},
		"climbing":   {path: filepath.Join(dir, executable(NvidiaSMI)) + "/..", want: "must end with nvidia-smi"},
		"arguments":  {path: filepath.Join(dir, executable(NvidiaSMI)) + " -r", want: "must end with nvidia-smi"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ValidatePath(NvidiaSMI, tt.path)
			_, errNew := NewLocal(NvidiaSMI, tt.path)
			if tt.want == "" {
				require.NoError(t, err)
				require.NoError(t, errNew)
				return
			}
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, errNew, tt.want)
		})
	}
}

func TestFind(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	l, err := NewLocal(NvidiaSMI, "")
	require.NoError(t, err)
	l.places = []place{{dir: first}, {dir: second, libraries: "/driver/lib64"}}

	_, _, err = find(l.tool, l.path, l.places)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, first+", "+second, "the error names the places")

	path := filepath.Join(second, executable(NvidiaSMI))
	require.NoError(t, os.WriteFile(path, nil, 0o700))
	got, libraries, err := find(l.tool, l.path, l.places)
	require.NoError(t, err, "a tool that was installed later is found")
	assert.Equal(t, path, got)
	assert.Equal(t, "/driver/lib64", libraries)

	require.NoError(t, os.Mkdir(filepath.Join(first, executable(NvidiaSMI)), 0o700))
	got, _, err = find(l.tool, l.path, l.places)
	require.NoError(t, err)
	assert.Equal(t, path, got, "a folder with the tool's name is skipped")

	require.NoError(t, os.Remove(path))
	_, _, err = find(l.tool, l.path, l.places)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "is not a regular file")

	l.places = nil
	_, _, err = find(l.tool, l.path, l.places)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "set path")
}

func TestFindConfiguredPathOnly(t *testing.T) {
	path := ownExecutable(t)
	require.NoError(t, os.Remove(path))
	l, err := NewLocal(NvidiaSMI, path)
	require.NoError(t, err)
	l.places = []place{{dir: filepath.Dir(ownExecutable(t))}}
	_, _, err = find(l.tool, l.path, l.places)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, path)
}
