// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The collector accepts the configuration of README.md, and make knows its commands. CI runs `make test`, and TestDemoPage runs what
// `make demo` does.
func TestReadme(t *testing.T) {
	t.Parallel()
	_ = binary(t)
	text, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	configuration := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, configuration)
	file := filepath.Join(t.TempDir(), "readme.yaml")
	require.NoError(t, os.WriteFile(file, configuration[1], 0o600))
	code, output := run(t, "validate", "--config", file)
	assert.Zero(t, code, output)

	targets := regexp.MustCompile(`(?m)^make ([a-z-]+)`).FindAllSubmatch(text, -1)
	require.Len(t, targets, 2)
	for _, target := range targets {
		dry := exec.CommandContext(t.Context(), "make", "--dry-run", string(target[1]))
		dry.Dir = root(t)
		printed, err := dry.CombinedOutput()
		require.NoError(t, err, "%s", printed)
	}
}
