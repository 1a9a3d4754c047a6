// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func table13(units uint64) *metrics {
	return &metrics{revision: revision{1, 3}, energy: gpu.Some(units)}
}

func joules(t *testing.T, c gpu.Counter[float64]) float64 {
	t.Helper()
	v, ok := c.Get()
	assert.True(t, ok)
	return v
}

func TestEnergyOf64Bits(t *testing.T) {
	var a accumulator
	capacity := gpu.Some(750.0)
	m := &metrics{revision: revision{1, 6}, energy: gpu.Some[uint64](65536 * 1000)}
	c := a.read(m, capacity, start)
	assert.InDelta(t, 1000, joules(t, c), 1e-9)
	assert.True(t, c.Since().IsZero())
	m.energy = gpu.Some[uint64](65536 * 10)
	assert.InDelta(t, 10, joules(t, a.read(m, capacity, start.Add(time.Hour))), 1e-9, "the driver's own total, fallen")
}

func TestEnergyWraps(t *testing.T) {
	var a accumulator
	capacity := gpu.Some(300.0)
	now := start
	assert.InDelta(t, 65535, joules(t, a.read(table13(65535*65536), capacity, now)), 1)
	now = now.Add(30 * time.Second)
	c := a.read(table13(5999*65536), capacity, now)
	assert.InDelta(t, 65536+5999, joules(t, c), 1)
	assert.True(t, c.Since().IsZero(), "nothing was missed")
}

func TestEnergyWrapsWithoutCap(t *testing.T) {
	var a accumulator
	now := start
	for i := range 20 { // at the default interval, 400 W
		c := a.read(table13(uint64(60000+i*12000)%65536*65536), gpu.Opt[float64]{}, now)
		assert.InDelta(t, 60000+i*12000, joules(t, c), 1)
		assert.True(t, c.Since().IsZero(), "nothing was missed")
		now = now.Add(30 * time.Second)
	}
}

func TestEnergyMissed(t *testing.T) {
	var a accumulator
	capacity := gpu.Some(300.0)
	a.read(table13(1000*65536), capacity, start)
	now := start.Add(10 * time.Minute) // in which the counter may have wrapped more than once
	c := a.read(table13(2000*65536), capacity, now)
	assert.Zero(t, joules(t, c))
	assert.Equal(t, now, c.Since())
	c = a.read(table13(2600*65536), capacity, now.Add(10*time.Second))
	assert.InDelta(t, 600, joules(t, c), 1)
	assert.Equal(t, now, c.Since())
}

func TestEnergyReset(t *testing.T) {
	var a accumulator
	capacity := gpu.Some(300.0)
	a.read(table13(30000*65536), capacity, start)
	now := start.Add(10 * time.Second)
	c := a.read(table13(100*65536), capacity, now)
	assert.Zero(t, joules(t, c), "35 kJ in 10 s are no wrap: the GPU was reset")
	assert.Equal(t, now, c.Since())
}

func TestEnergyAbsent(t *testing.T) {
	var a accumulator
	assert.False(t, a.read(&metrics{revision: revision{1, 3}}, gpu.Opt[float64]{}, start).Known())
	assert.False(t, a.read(table13(0), gpu.Opt[float64]{}, start).Known(), "the second die of an MI250")
}

func TestEnergyGrowsOutOf32Bits(t *testing.T) {
	var a accumulator
	capacity := gpu.Some(560.0)
	a.read(table13(1<<32-65536), capacity, start)
	c := a.read(table13(1<<32+65536), capacity, start.Add(time.Second))
	assert.InDelta(t, 65537, joules(t, c), 1e-6)
	assert.True(t, c.Since().IsZero())
	c = a.read(table13(7), capacity, start.Add(2*time.Second))
	assert.InDelta(t, 7*energyUnit, joules(t, c), 1e-9)
}

// TestEnergyReadsAsNone: no total is made of what a driver writes whose firmware does not count, and a counter that passes
// through that value loses nothing but the one read.
func TestEnergyReadsAsNone(t *testing.T) {
	m := amdgpusim.Radeon()
	table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x3)
	tree, source, clock := simulate(t, m, withoutProcesses)
	energy := func(units uint64) gpu.Counter[float64] {
		table.Energy = units
		require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), amdgpusim.Encode(table), 0o600))
		clock.pass(10 * time.Second)
		node := read(t, source)
		assert.Empty(t, node.Problems)
		assert.Equal(t, gpu.Some(287.0), node.Devices[0].Power.Draw)
		return node.Devices[0].Energy
	}
	for range 3 {
		assert.False(t, energy(math.MaxUint32).Known())
	}
	assert.InDelta(t, 65436, joules(t, energy(1<<32-100*65536)), 1e-3)
	assert.False(t, energy(math.MaxUint32).Known())
	c := energy(50 * 65536)
	assert.InDelta(t, 65536+50, joules(t, c), 1e-3)
	assert.True(t, c.Since().IsZero(), "nothing was missed")
}
