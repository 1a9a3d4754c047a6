// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// first returns the first GPU of a machine, and what its reads are given.
func first(t *testing.T, m *amdgpusim.Machine) (*amdgpusim.Tree, *GPU, Input) {
	t.Helper()
	tree, err := amdgpusim.Write(t.TempDir(), m)
	require.NoError(t, err)
	inv, err := scan.Scan(tree.Root)
	require.NoError(t, err)
	g := New(Config{Root: tree.Root, Want: gpu.GroupAll, Decoder: gpumetrics.NewDecoder()})
	card := inv.Cards[0]
	return tree, g, Input{
		Names: Names{},
		Card:  card, Nodes: inv.NodesOf(card.Address), Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ReadFile: sysfs.Read,
	}
}

// TestReadMachines: a GPU of every simulated machine is read without a problem. The source's golden files have its values.
func TestReadMachines(t *testing.T) {
	for name, build := range amdgpusim.Machines() {
		t.Run(name, func(t *testing.T) {
			m := build()
			_, g, input := first(t, m)
			result := g.Read(input)
			require.NoError(t, result.FileLimit)
			assert.False(t, result.Gone)
			assert.Empty(t, result.Problems)
			d := &result.Device
			assert.Empty(t, d.Faults)
			assert.Equal(t, m.Cards[0].Address, d.Info.PCIAddress)
			assert.True(t, d.Power.Draw.Known())
			assert.True(t, d.Memory.Limit.Known())
			assert.True(t, d.Clocks[gpu.ClockGraphics].Speed.Known())
			for i, p := range result.Partitions {
				assert.Equal(t, gpu.Some(i), p.Partition)
				assert.Equal(t, d.ID, p.Parent)
				assert.False(t, p.Power.Draw.Known())
			}
		})
	}
}

// TestPowerOfAPU: the sensors and the limits of an APU describe the package with the CPU. The table has the power of the GPU.
func TestPowerOfAPU(t *testing.T) {
	draw, whole := gpu.Some(1.536), gpu.Some(9.087)
	v3 := amdgpusim.Blank(&amdgpusim.MetricsV3x0{}, 3, 0)
	v3.GfxPower, v3.AllCorePower = 1536, 2499
	none := amdgpusim.Blank(&amdgpusim.MetricsV3x0{}, 3, 0)
	for name, tt := range map[string]struct {
		table any
		want  gpu.Group
		power gpu.Power
	}{
		"both":             {v3, gpu.GroupAll, gpu.Power{Draw: draw, Module: whole}},
		"the GPU's alone":  {v3, gpu.GroupPower, gpu.Power{Draw: draw}},
		"the package's":    {v3, gpu.GroupPowerDetail, gpu.Power{Module: whole}},
		"limits":           {v3, gpu.GroupPowerLimit, gpu.Power{}},
		"without a part":   {none, gpu.GroupAll, gpu.Power{Module: whole}},
		"of a new content": {amdgpusim.Blank(&amdgpusim.MetricsV3x0{}, 3, 9), gpu.GroupAll, gpu.Power{Module: whole}},
	} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.APU()
			m.Cards[0].Metrics = tt.table
			m.Cards[0].Readings.Instant, m.Cards[0].Readings.Cap, m.Cards[0].Readings.CapMax = 9_087_000, 28_000_000, 54_000_000
			_, g, input := first(t, m)
			g.cfg.Want = tt.want
			for range 2 {
				assert.Equal(t, tt.power, g.Read(input).Device.Power)
			}
		})
	}
}

func TestGone(t *testing.T) {
	_, g, input := first(t, amdgpusim.MI100())
	input.Card.Device += "-other"
	result := g.Read(input)
	assert.True(t, result.Gone)
	assert.Empty(t, result.Device.ID)
}

func TestFileLimit(t *testing.T) {
	_, g, input := first(t, amdgpusim.MI100())
	input.ReadFile = func(path string) ([]byte, error) {
		if filepath.Base(path) == "gpu_busy_percent" {
			return nil, syscall.EMFILE
		}
		return sysfs.Read(path)
	}
	require.ErrorIs(t, g.Read(input).FileLimit, syscall.EMFILE)
	input.ReadFile = sysfs.Read
	require.NoError(t, g.Read(input).FileLimit)
}

// TestEpoch: the counters start again when the driver makes the DRM device again.
func TestEpoch(t *testing.T) {
	_, g, input := first(t, amdgpusim.MI100())
	assert.Zero(t, g.Read(input).Device.Epoch)
	assert.Zero(t, g.Read(input).Device.Epoch)
	require.NoError(t, os.Rename(input.Card.Device, input.Card.Device+"-before"))
	require.NoError(t, os.Mkdir(input.Card.Device, 0o750))
	assert.EqualValues(t, 1, g.Read(input).Device.Epoch)
	assert.EqualValues(t, 1, g.Read(input).Device.Epoch)
}

// TestEnergyOfTheSensors: a counter of the sensors is preferred to the counter of the table.
func TestEnergyOfTheSensors(t *testing.T) {
	m := amdgpusim.MI100()
	tree, g, input := first(t, m)
	file := tree.Path(m.Cards[0].Sensors() + "/energy1_input")
	require.NoError(t, os.WriteFile(file, []byte("5000000\n"), 0o600))
	assert.Equal(t, gpu.Total(5.0), g.Read(input).Device.Energy)
	require.NoError(t, os.WriteFile(file, []byte("-1\n"), 0o600))
	assert.False(t, g.Read(input).Device.Energy.Known())
}

// TestSensorsWithoutLabels: earlier drivers report only the edge temperature, without a label.
func TestSensorsWithoutLabels(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].Metrics = nil
	tree, g, input := first(t, m)
	labels, err := filepath.Glob(tree.Path(m.Cards[0].Sensors() + "/*_label"))
	require.NoError(t, err)
	require.NotEmpty(t, labels)
	for _, label := range labels {
		require.NoError(t, os.Remove(label))
	}
	d := g.Read(input).Device
	assert.True(t, d.Temperature[gpu.SensorEdge].Known())
	assert.False(t, d.Temperature[gpu.SensorHotspot].Known())

	require.NoError(t, os.RemoveAll(filepath.Dir(tree.Path(m.Cards[0].Sensors()))))
	result := g.Read(input)
	assert.Empty(t, result.Problems)
	assert.False(t, result.Device.Temperature[gpu.SensorEdge].Known())
	assert.False(t, result.Device.Power.Limit[gpu.LimitEnforced].Known())
	assert.False(t, result.Device.Power.Limit[gpu.LimitMax].Known())
}
