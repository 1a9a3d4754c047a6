// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In another container the tool and the driver may be others: they are asked anew, and counters start anew.
func TestReadInAnotherContainer(t *testing.T) {
	c, _, s, _ := bare(1, 0)
	m := &machine{uuid: "GPU-1"}
	c.executor = &direct{boxes: map[string]box{"n1": m.box()}}
	n := newNode(c, "n1", planOf(c, "n1", "first"))
	helps := func() int { return strings.Count(strings.Join(m.called(), "\n"), "--help-query-gpu") }
	read := func(instance string) uint64 {
		p := planOf(c, "n1", instance)
		n.read(t.Context(), p, &p.jobs[0])
		_, _, node, err := s.of("c/n1")
		require.NoError(t, err)
		require.Len(t, node.Devices, 1)
		return node.Devices[0].Epoch
	}
	first := read("first")
	assert.Equal(t, first, read("first"))
	assert.Equal(t, 1, helps())
	second := read("second")
	assert.Greater(t, second, first)
	assert.Equal(t, second, read("second"))
	assert.Equal(t, 2, helps())
	assert.Len(t, n.readings, 1)

	for _, tool := range []string{ToolROCmSMI, ToolAMDSMI} {
		j := job{target: &TargetConfig{Tool: tool}, instance: "first"}
		before := n.reading(&j).source
		assert.Same(t, before, n.reading(&j).source)
		j.instance = "second"
		assert.NotSame(t, before, n.reading(&j).source)
	}
}
