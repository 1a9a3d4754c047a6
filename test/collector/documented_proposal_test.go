// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The configuration in docs/upstream.md is valid.
func TestDocumentedProposal(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "upstream.md"))
	require.NoError(t, err)
	match := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, match, 1)
	file := filepath.Join(t.TempDir(), "proposal.yaml")
	require.NoError(t, os.WriteFile(file, []byte(match[0][1]), 0o600))
	code, output := run(t, "validate", "--config", file)
	assert.Zero(t, code, output)
}
