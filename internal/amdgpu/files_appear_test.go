// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestSensorsRenumbered: the kernel numbers the sensors again while the card stays, as when another driver of sensors is loaded again.
// The next read finds them.
func TestSensorsRenumbered(t *testing.T) {
	m := amdgpusim.Radeon()
	tree, source, _ := simulate(t, m, withoutProcesses)
	before := read(t, source).Devices[0]
	sensors := tree.Path(m.Cards[0].Sensors())
	for _, name := range []string{"hwmon97", "hwmon98"} {
		moved := filepath.Join(filepath.Dir(sensors), name)
		require.NoError(t, os.Rename(sensors, moved))
		sensors = moved
		node := read(t, source)
		assert.Empty(t, node.Problems)
		after := node.Devices[0]
		assert.Equal(t, before.Power, after.Power)
		assert.Equal(t, before.Temperature, after.Temperature)
		assert.Equal(t, before.TemperatureLimit, after.TemperatureLimit)
		assert.Equal(t, before.Fans, after.Fans)
		assert.Equal(t, before.Clocks, after.Clocks)
	}
}

// TestFilesAppear: the driver makes the files of a card one after the other, and a read may come in between. The next read has them all,
// the identity among them.
func TestFilesAppear(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, withoutProcesses)
	_, complete, _ := simulate(t, m, withoutProcesses)
	want := read(t, complete).Devices[0]
	dir := tree.Path(m.Cards[0].Dir())
	hidden := t.TempDir()
	names := []string{
		"hwmon", "ras", "gpu_metrics", "unique_id", "serial_number", "vbios_version", "numa_node", "mem_info_vram_total",
		"product_name", "gpu_busy_percent",
	}
	var moved []string
	for _, name := range names {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(hidden, name)); err == nil {
			moved = append(moved, name)
		}
	}
	assert.Subset(t, moved, []string{"hwmon", "ras", "gpu_metrics", "unique_id"})
	before := read(t, source).Devices[0]
	assert.Empty(t, before.ID)
	assert.False(t, before.Power.Draw.Known())
	for _, count := range before.Errors {
		assert.Empty(t, count.Block)
	}
	for _, name := range moved {
		require.NoError(t, os.Rename(filepath.Join(hidden, name), filepath.Join(dir, name)))
	}
	node := read(t, source)
	require.Len(t, node.Devices, 2)
	assert.Empty(t, node.Problems)
	assert.Equal(t, want, node.Devices[0])
	assert.Equal(t, gpu.Some[int64](2), node.Presence[gpu.Visible])
	assert.Equal(t, gpu.Some[int64](0), node.Presence[gpu.Missing])
}
