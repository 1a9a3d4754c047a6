// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// fleetOf returns a fleet of one node of the sample fleet.
func fleetOf(node string) *view.Snapshot {
	s := viewtest.Snapshot()
	s.Clusters, s.Nodes = nil, slices.DeleteFunc(s.Nodes, func(n *view.Node) bool { return n.Name != node })
	return s
}

// screen returns the words of the screen that shows what the server answers.
func screen(t *testing.T, c *client.Client) string {
	t.Helper()
	m := newModel(Options{})
	m.take(ask(t.Context(), c, m.panes, m.question(), time.Now))
	var words []string
	for _, l := range m.frame(100, 24, viewtest.Now) {
		for _, p := range l {
			words = append(words, strings.Fields(p.text)...)
		}
	}
	return strings.Join(words, " ")
}

// Without any GPU, the screen and the printed table say so.
func TestNoGPU(t *testing.T) {
	c := newClient(t, fleetOf("empty"))
	var printed strings.Builder
	require.NoError(t, Print(t.Context(), c, &printed, Options{}))
	for _, text := range []string{printed.String(), screen(t, c)} {
		assert.Contains(t, text, "0 GPUs")
		assert.Contains(t, text, noGPUFound)
	}
	assert.NotContains(t, screen(t, newClient(t, viewtest.Snapshot())), noGPUFound)
}

// Without the driver's library, both say that it is missing, and what to do.
func TestNoLibrary(t *testing.T) {
	s := fleetOf("unread")
	s.Nodes[0].Sources[0].Name, s.Nodes[0].Sources[0].Reasons = "nvml", []string{"library"}
	c := newClient(t, s)
	var printed strings.Builder
	err := Print(t.Context(), c, &printed, Options{})
	require.Error(t, err)
	for _, text := range []string{err.Error(), screen(t, c)} {
		assert.Contains(t, text, "prod/unread: nvml: library")
		assert.Contains(t, text, "Install the GPU driver on the node.")
		assert.NotContains(t, text, noGPUFound)
	}
}
