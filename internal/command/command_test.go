// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		result Result
		lines  string
		whole  bool
	}{
		"all":                          {Result{Stdout: []byte("a 12\nb 34\n")}, "a 12\nb 34\n", true},
		"none":                         {Result{}, "", true},
		"an exit code":                 {Result{Stdout: []byte("a 12\n"), ExitCode: 15}, "a 12\n", true},
		"cut in a line":                {Result{Stdout: []byte("a 12\nb 3")}, "a 12\n", false},
		"cut in the first":             {Result{Stdout: []byte("a 1")}, "", false},
		"a signal after a line":        {Result{Stdout: []byte("a 12\n"), ExitCode: -1}, "a 12\n", false},
		"a signal before all":          {Result{ExitCode: -1}, "", false},
		"more than is kept":            {Result{Stdout: []byte("a 12\n"), Truncated: true}, "a 12\n", false},
		"more than is kept, in a line": {Result{Stdout: []byte("a 12\nb"), Truncated: true}, "a 12\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			lines, whole := c.result.Lines()
			assert.Equal(t, c.lines, string(lines))
			assert.Equal(t, c.whole, whole)
		})
	}
}

// AMD's tools print numbers too.
func TestEnvironmentOfEveryTool(t *testing.T) {
	for _, tool := range []Tool{NvidiaSMI, ROCmSMI, AMDSMI} {
		assert.Contains(t, tool.Environment(), "LC_ALL=C", tool)
	}
}
