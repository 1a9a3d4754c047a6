// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution"
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

// busy refuses to read the process table.
type busy struct{ executor }

func (b busy) exec(ctx context.Context, in place, argv []string, out *output) (int, error) {
	if slices.Contains(argv, processScript) {
		return 0, &refusal{code: 429, retryAfter: 2 * time.Minute}
	}
	return b.executor.exec(ctx, in, argv, out)
}

// The API server asks for a pause when the process table is read: the GPUs have been, and the pause is kept and counted.
func TestReadThrottledAtTheProcessTable(t *testing.T) {
	c, _, s, _ := bare(1, 0)
	m := &machine{uuid: "GPU-1", processes: []string{"41, GPU-1, 100 MiB, python3\n"}}
	c.executor = busy{&direct{boxes: map[string]box{"n1": m.box()}}}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return now }
	p := planOf(c, "n1", "first")
	p.jobs[0].hostPID = true
	n := newNode(c, "n1", p)
	n.reading(&p.jobs[0]).processes = newProcesses(attribution.NewRemote(nil, interval), time.Now)
	n.read(t.Context(), p, &p.jobs[0])

	_, _, node, err := s.of("c/n1")
	require.NoError(t, err)
	require.Len(t, node.Devices, 1)
	require.Len(t, node.Problems, 1)
	require.ErrorContains(t, node.Problems[0].Err, "read the process table: the API server answered 429 Too Many Requests")
	assert.Equal(t, int64(1), c.stats().Throttled)
	assert.Equal(t, now.Add(2*time.Minute), c.paused)
}
