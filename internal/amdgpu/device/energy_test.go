// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestEnergyByRevision: counters have 32 bits under the older revisions of the table, whatever their unit. The newer ones are the
// firmware's own totals, also if they fall.
func TestEnergyByRevision(t *testing.T) {
	for content, total := range map[uint8]float64{0: 65536 + 10, 3: 65536 + 10, 4: 10, 8: 10} {
		var e energyCounter
		table := &gpumetrics.Table{Revision: gpumetrics.Revision{Format: 1, Content: content}}
		now, maxPower := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 450.0
		d := &gpu.Device{Info: gpu.Info{ComputeCapability: "gfx90a"}}
		assert.False(t, e.accumulated(table, d, maxPower, now).Known(), "the table has none")
		table.Energy = gpu.Some[uint64](0)
		assert.False(t, e.accumulated(table, d, maxPower, now).Known(), "the second die of an MI250")
		table.Energy = gpu.Some[uint64](65535 * 65536)
		c := e.accumulated(table, d, maxPower, now)
		joules, _ := c.Get()
		assert.InDelta(t, 65535, joules, 1e-9)
		assert.True(t, c.Since().IsZero())
		table.Energy = gpu.Some[uint64](10 * 65536)
		c = e.accumulated(table, d, maxPower, now.Add(30*time.Second))
		joules, _ = c.Get()
		assert.InDelta(t, total, joules, 1e-9, "1.%d", content)
		assert.True(t, c.Since().IsZero(), "nothing was missed")
	}
}

// TestEnergyOfMI100 is by two tables of an MI100 that drew 36 W. They are 10.285 s apart. It counts joules.
func TestEnergyOfMI100(t *testing.T) {
	known := &gpu.Device{Info: gpu.Info{ComputeCapability: "gfx908"}}
	for name, d := range map[string]*gpu.Device{"by its target": known, "by its power": {}} {
		t.Run(name, func(t *testing.T) {
			var e energyCounter
			table := &gpumetrics.Table{Revision: gpumetrics.Revision{Format: 1, Content: 3}}
			for i, want := range []float64{59231, 59601} {
				table.Energy = gpu.Some(uint64(want))
				d.Power.Draw = gpu.Some(36.0 - float64(i))
				joules, ok := e.accumulated(table, d, 435, time.Unix(0, int64(i)*10_285_000_000)).Get()
				assert.Equal(t, i > 0 || d == known, ok)
				if ok {
					assert.InDelta(t, want, joules, 1e-9)
				}
			}
		})
	}
}

// TestEnergyOfNavi21 is by a table of a Radeon RX 6900 XT that had drawn 36 W for 533 s. It counts millijoules, and wraps after 4.3 MJ.
func TestEnergyOfNavi21(t *testing.T) {
	var e energyCounter
	table := &gpumetrics.Table{Revision: gpumetrics.Revision{Format: 1, Content: 3}, Energy: gpu.Some[uint64](17691682)}
	d, now := &gpu.Device{Info: gpu.Info{ComputeCapability: "gfx1030"}}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	joules, _ := e.accumulated(table, d, 450, now).Get()
	assert.InDelta(t, 17691.682, joules, 1e-9)
	e = energyCounter{}
	table.Energy = gpu.Some[uint64](1<<32 - 1000)
	e.accumulated(table, d, 450, now)
	table.Energy = gpu.Some[uint64](2000)
	joules, _ = e.accumulated(table, d, 450, now.Add(time.Minute)).Get()
	assert.InDelta(t, 4294967.296+2, joules, 1e-6)
}
