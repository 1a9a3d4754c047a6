// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnsafePath(t *testing.T) {
	const name = "nvidia-smi"
	tool := func(t *testing.T) (path string) {
		t.Helper()
		path = filepath.Join(t.TempDir(), "a", "b", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o755))
		return path
	}
	for title, c := range map[string]struct {
		change func(t *testing.T, path string) string // returns the configured path
		want   string
	}{
		"safe":                   {func(_ *testing.T, path string) string { return path }, ""},
		"folder writable by all": {func(t *testing.T, path string) string { chmod(t, filepath.Dir(path), 0o777); return path }, "is writable by others"},
		"writable by its group":  {func(t *testing.T, path string) string { chmod(t, filepath.Dir(path), 0o775); return path }, "is writable by others"},
		"a folder above":         {func(t *testing.T, path string) string { chmod(t, filepath.Dir(filepath.Dir(path)), 0o777); return path }, "is writable by others"},
		"the tool itself":        {func(t *testing.T, path string) string { chmod(t, path, 0o777); return path }, "is writable by others"},
		"link to an unsafe folder": {func(t *testing.T, path string) string {
			chmod(t, filepath.Dir(path), 0o777)
			return link(t, path, 0o755)
		}, "is writable by others"},
		"link in an unsafe folder": {func(t *testing.T, path string) string { return link(t, path, 0o777) }, "is writable by others"},
		"link between safe ones":   {func(t *testing.T, path string) string { return link(t, path, 0o755) }, ""},
		"sticky folder of root": {func(t *testing.T, path string) string {
			if os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			chmod(t, filepath.Dir(path), 0o777|os.ModeSticky)
			return path
		}, ""},
		"folder of another user": {func(t *testing.T, path string) string {
			if os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			require.NoError(t, os.Chown(filepath.Dir(path), 12345, 0))
			return path
		}, "belongs to user 12345"},
	} {
		t.Run(title, func(t *testing.T) {
			path := c.change(t, tool(t))
			_, _, configured := find(NvidiaSMI, path, nil)
			_, _, ok := find(NvidiaSMI, "", []place{{dir: filepath.Dir(path)}})
			for _, err := range []error{configured, ok} {
				if c.want == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, ErrNotFound)
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(path, mode))
}

// link returns a symbolic link to the tool, in a directory with this mode.
func link(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Mkdir(dir, 0o755))
	target := filepath.Join(dir, filepath.Base(path))
	require.NoError(t, os.Symlink(path, target))
	chmod(t, dir, mode)
	return target
}
