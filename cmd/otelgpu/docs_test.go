// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The examples of otelgpu get in docs/reference/api.md print what the documentation says, of the sample fleet. With -update it is written there.
func TestDocumentedCommands(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "api.md")
	docs, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(docs), "```\n$ otelgpu get ")
	require.True(t, found)
	block, after, found := strings.Cut(rest, "```")
	require.True(t, found)
	t.Setenv(envServer, sampleServer(t))
	var printed strings.Builder
	for i, example := range strings.Split(block, "$ otelgpu get ") {
		if i > 0 {
			printed.WriteString("$ otelgpu get ")
		}
		command, _, _ := strings.Cut(example, "\n")
		got := otelgpu(t, append([]string{"get"}, strings.Fields(command)...)...)
		printed.WriteString(command + "\n" + got.out + got.err)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+"```\n$ otelgpu get "+printed.String()+"```"+after), 0o600))
		return
	}
	assert.Equal(t, printed.String(), block)
	assert.GreaterOrEqual(t, strings.Count(block, "$ "), 2)
}
