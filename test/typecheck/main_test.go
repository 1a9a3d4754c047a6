// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRun checks a module that compiles for one platform alone.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.org/a\n\ngo 1.26\n",
		"a.go":           "package a\n\nimport \"os\"\n\nfunc A() int { return onlyLinux() + os.Getpid() }\n",
		"a_linux.go":     "package a\n\nfunc onlyLinux() int { return 1 }\n",
		"b/b.go":         "package b\n\nimport \"example.org/a\"\n\nvar B = a.A()\n",
		"b/ignored_x.go": "//go:build never\n\npackage b\n\nvar C = missing\n",
		"c/c_darwin.go":  "package c\n\nimport \"unused\"\n",
		"c/doc.go":       "package c\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Chdir(dir)
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOOS", "linux")
	require.NoError(t, run([]string{"./..."}))
	t.Setenv("GOOS", "windows")
	require.ErrorContains(t, run([]string{"./..."}), "undefined: onlyLinux")
	t.Setenv("GOOS", "darwin")
	require.Error(t, run([]string{"./c"}))
}
