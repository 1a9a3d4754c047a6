// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// A node that is silent is stale, with what was known last, and gone later.
func TestSilentNode(t *testing.T) {
	f := goldenFleet(t, filepath.Join("..", "..", "..", "testdata", "golden", "remote.yaml"))
	w := &watch{now: start}
	f.settings.Now = func() time.Time { return w.now }
	first := f.Tiles(0).Generation

	w.pass(3 * time.Minute) // the interval is not known yet
	f.sweep()
	assert.Equal(t, view.Live, onlyNode(t, f).State)

	w.pass(time.Second)
	f.sweep()
	stale := onlyNode(t, f)
	assert.Equal(t, view.Stale, stale.State)
	assert.Len(t, stale.GPUs, 2)
	assert.Equal(t, start, stale.LastSeen.UTC())
	tiles := f.Tiles(first)
	assert.False(t, tiles.Whole)
	assert.Len(t, tiles.Tiles, 2)
	assert.True(t, tiles.Tiles[0].Stale)

	w.pass(7 * time.Minute)
	f.sweep()
	assert.Empty(t, f.Snapshot().Nodes)
	assert.Empty(t, f.Snapshot().Clusters)
	missing := f.Tiles(tiles.Generation)
	assert.Empty(t, missing.Tiles)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, missing.Gone)
	assert.Empty(t, f.state.owners)
	assert.Zero(t, f.state.uses)
}
