// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program and a configuration of a checkout come before the installed ones, and are named if all are missing.
func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", t.TempDir())
	share := t.TempDir()
	before := installedConfigs
	installedConfigs = []string{share}
	t.Cleanup(func() { installedConfigs = before })
	assert.Equal(t, builtHere, FindProgram())
	assert.Equal(t, runConfig, FindConfig())

	file := func(path string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o700))
		return path
	}
	assert.Equal(t, file(filepath.Join(os.Getenv("PATH"), program)), FindProgram())
	assert.Equal(t, file(filepath.Join(share, runConfig)), FindConfig())
	assert.Equal(t, file(builtHere), FindProgram())
	assert.Equal(t, file(runConfig), FindConfig())
}
