// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// A notebook that holds a GPU, has a process and memory on it and does nothing is idle after a time. It is not used then, and not idle as
// soon as it does something.
func TestIdleNotebook(t *testing.T) {
	f, w := newTestFleet(Settings{IdleThreshold: 0.01})
	m := newMachine("a", 2, 1)
	busy := func(first, second float64) view.Workload {
		for i, share := range []float64{first, second} {
			m.Containers[i].Utilization[gpu.TaskGeneral] = gpu.Some(share)
		}
		f.ConsumeMetrics(m.read(w.now))
		w.pass(period)
		all := query.Workloads(f.Snapshot().Nodes, query.UserFilter{})
		require.Len(t, all, 1)
		return *all[0]
	}
	for range int(5 * time.Minute / period) {
		job := busy(0.01, 0.5)
		assert.Equal(t, []int{2, 2, 0}, []int{*job.Held, job.Used, *job.Idle}, "not for long enough")
	}
	job := busy(0, 0.5)
	assert.Equal(t, []int{2, 1, 1}, []int{*job.Held, job.Used, *job.Idle})
	assert.Equal(t, start, job.IdleSince.UTC())
	assert.True(t, f.Tiles(0, "").Tiles[0].Idle)
	assert.False(t, f.Tiles(0, "").Tiles[1].Idle)
	assert.Zero(t, *job.IdleTime, "the counter is the receiver's")

	job = busy(0.02, 0.5)
	assert.Equal(t, []int{2, 2, 0}, []int{*job.Held, job.Used, *job.Idle})
	assert.Nil(t, job.IdleSince)
	assert.Zero(t, *busy(0, 0.5).Idle)
}

// Tiles have what the map can show and group by: rounded, and the label of their node that was requested.
func TestTileValues(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 0)
	f.ConsumeMetrics(m.read(w.now))
	tiles := f.Tiles(0, "zone")
	assert.Equal(t, []string{"zone"}, tiles.Labels)
	assert.Equal(t, "a", tiles.Tiles[0].Label)
	assert.InDelta(t, 60, *tiles.Tiles[0].Temperature, 0)
	assert.InDelta(t, 0.87, *tiles.Tiles[0].Power, 1e-9, "612.25 of 700 W")
	assert.Nil(t, tiles.Tiles[0].IdleSince)
	m.Devices[0].Power.Draw = gpu.Some(611.0) // 0.87 of the limit, too
	w.pass(period)
	f.ConsumeMetrics(m.read(w.now))
	assert.Empty(t, f.Tiles(tiles.Generation, "zone").Tiles)
}
