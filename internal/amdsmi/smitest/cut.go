// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/differential"
)

// CutAnywhere cuts the output of each call. The output of a tool that crashes ends anywhere, usually in the middle of a number. Each value
// that is read from the rest equals the value of the whole output, and GPUs that were read before are not lost.
func CutAnywhere(t *testing.T, newSource func(*testing.T) (*Tool, gpu.Source), calls ...string) {
	t.Helper()
	for _, call := range calls {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			var text string
			tool, source := newSource(t)
			intercept(tool, call, func(r command.Result) command.Result { text = string(r.Stdout); return r })
			first := differential.Flatten(Read(t, source))
			second := differential.Flatten(Read(t, source))
			require.NotEmpty(t, text)
			for n := range text {
				end := n > 0 && text[n-1] == '\n'
				if lines := call == "--show"; lines && !end && n%5 > 0 || !lines && n%97 > 0 {
					continue // within a document of JSON one place is like another
				}
				cut := func(command.Result) command.Result {
					return command.Result{Stdout: []byte(text[:n]), ExitCode: -(n % 2)}
				}
				tool, source := newSource(t)
				intercept(tool, call, cut)
				if node, err := source.Read(t.Context()); err == nil {
					NoOther(t, fmt.Sprintf("%d of %d bytes", n, len(text)), first, node)
				}
				tool, source = newSource(t)
				Read(t, source)
				intercept(tool, call, cut)
				if node, err := source.Read(t.Context()); err == nil {
					NoOther(t, fmt.Sprintf("%d of %d bytes, after the whole", n, len(text)), second, node)
				}
			}
		})
	}
}

// NoOther fails the test if a node has a value that the whole output does not have. A node without readable GPUs is allowed.
func NoOther(t *testing.T, position string, whole differential.Values, node *gpu.Node) {
	t.Helper()
	if node.Presence[gpu.Visible] == gpu.Some(int64(0)) {
		return
	}
	for name, v := range differential.Flatten(node) {
		id, quantity, _ := strings.Cut(name, " ")
		if anonymous := strings.Contains(id, ":"); anonymous || quantity == "ProcessesUnread" || quantity == "Unread" || id == "node" {
			continue
		}
		require.Equal(t, whole[name], v, "%s: %s", position, name)
	}
}
