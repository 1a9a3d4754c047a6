// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Configurations that expose every metric on the network document that where an administrator looks for it.
func TestOpenPagesAreTold(t *testing.T) {
	security, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	var row string
	for line := range strings.Lines(string(security)) {
		if strings.HasPrefix(line, "| 9400 ") {
			row = line
		}
	}
	files, err := filepath.Glob("../../config/*.yaml")
	require.NoError(t, err)
	open := 0
	for _, file := range files {
		config, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(config), "endpoint: 0.0.0.0:9400") {
			open++
			assert.Contains(t, row, filepath.Base(file))
		}
	}
	assert.Positive(t, open)
}
