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

// TestEnergyByRevision: counters have 32 bits under the older revisions of the table, in 2^-16 J; the newer ones are the firmware's
// own totals, also where they fall.
func TestEnergyByRevision(t *testing.T) {
	for content, total := range map[uint8]float64{0: 65536 + 10, 3: 65536 + 10, 4: 10, 8: 10} {
		var e energyCounter
		table := &gpumetrics.Table{Revision: gpumetrics.Revision{Format: 1, Content: content}}
		now, limit := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), gpu.Some(300.0)
		assert.False(t, e.accumulated(table, limit, now).Known(), "the table has none")
		table.Energy = gpu.Some[uint64](0)
		assert.False(t, e.accumulated(table, limit, now).Known(), "the second die of an MI250")
		table.Energy = gpu.Some[uint64](65535 * 65536)
		c := e.accumulated(table, limit, now)
		joules, _ := c.Get()
		assert.InDelta(t, 65535, joules, 1e-9)
		assert.True(t, c.Since().IsZero())
		table.Energy = gpu.Some[uint64](10 * 65536)
		c = e.accumulated(table, limit, now.Add(30*time.Second))
		joules, _ = c.Get()
		assert.InDelta(t, total, joules, 1e-9, "1.%d", content)
		assert.True(t, c.Since().IsZero(), "nothing was missed")
	}
}
