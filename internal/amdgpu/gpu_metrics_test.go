// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func TestThrottleTime(t *testing.T) {
	m := amdgpusim.MI300XSPX()
	tree, source, clock := simulate(t, m, withoutProcesses)
	assert.False(t, read(t, source).Devices[0].Throttle[gpu.ThrottlePowerPPT].Active.Known())
	table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x6)
	table.SystemClock += 30_000_000_000
	table.Accumulations += 30_000
	table.PPT += 10_000
	require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), amdgpusim.Encode(table), 0o600))
	start := clock.now
	clock.pass(30 * time.Second)
	throttle := read(t, source).Devices[0].Throttle[gpu.ThrottlePowerPPT]
	assert.Equal(t, gpu.Some(true), throttle.Active)
	seconds, ok := throttle.Time.Get()
	assert.True(t, ok)
	assert.InDelta(t, 10, seconds, 1e-9)
	assert.Equal(t, start, throttle.Time.Since())
}

// TestUnknownRevision: a table that is too new costs the values that only it has, and one problem says so.
func TestUnknownRevision(t *testing.T) {
	m := amdgpusim.MI300XSPX()
	tree, source, _ := simulate(t, m, withoutProcesses)
	text := amdgpusim.Encode(m.Cards[0].Metrics)
	text[3] = 42
	require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), text, 0o600))
	node := read(t, source)
	d := &node.Devices[0]
	assert.Equal(t, []string{"gpu_metrics"}, whats(node, d.ID))
	require.ErrorIs(t, node.Problems[0].Err, gpumetrics.ErrRevision)
	require.ErrorContains(t, node.Problems[0].Err, "v1.42")
	assert.Equal(t, gpu.Some(318.0), d.Power.Draw)
	assert.False(t, d.Energy.Known())
	assert.Empty(t, d.Faults)
}

// TestLongTable: a table that describes itself may be longer than a page.
func TestLongTable(t *testing.T) {
	var w amdgpusim.AttributeTable
	for range 11 {
		w.Add(900, amdgpusim.AttributeU64, 0, make([]uint64, 120)...)
	}
	w.Add(3, amdgpusim.AttributeU16, 0, 512) // AMDGPU_METRICS_ATTR_ID_CURR_SOCKET_POWER
	m := amdgpusim.MI300XSPX()
	for _, c := range m.Cards {
		c.Readings.Instant = amdgpusim.None
	}
	tree, source, _ := simulate(t, m, gpu.GroupPower)
	table := w.Encode(1, 9)
	require.Greater(t, len(table), 8<<10)
	require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), table, 0o600))
	node := read(t, source)
	assert.Empty(t, node.Problems)
	assert.Equal(t, gpu.Some(512.0), node.Devices[0].Power.Draw)
}
