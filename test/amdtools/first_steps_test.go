// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdtools

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// The real amd-smi understands its command in the first steps of docs/operate/alerts.md, with an index. The simulated files cannot reset a GPU.
func TestToolFirstSteps(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## First steps\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	commands := regexp.MustCompile("`amd-smi ([^`]+)`").FindAllStringSubmatch(section, -1)
	require.Len(t, commands, 1)

	tree, err := amdgpusim.Write(t.TempDir(), amdgpusim.MI100())
	require.NoError(t, err)
	sandbox := newSandbox(t, "trixie", tree)
	run := func(args string) string {
		results, err := sandbox.Run(t.Context(), command.Command{Tool: "amd-smi", Args: strings.Fields(args)})
		require.NoError(t, err)
		return string(results[0].Stdout) + string(results[0].Stderr)
	}
	reset := strings.ReplaceAll(commands[0][1], "INDEX", "0")
	assert.Regexp(t, `GPU: 0\s+GPU_RESET: Failed to reset GPU`, run(reset))
	assert.Contains(t, run(reset+" --unknown"), "is invalid")
}
