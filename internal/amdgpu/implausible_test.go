// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestSensorOfOnes: 511 °C means that a sensor of 9 bits does not answer. Polaris and Vega report it when the GPU is about to be lost (https://github.com/lm-sensors/lm-sensors/issues/289).
func TestSensorOfOnes(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].Metrics = nil
	m.Cards[0].Readings.Edge, m.Cards[0].Readings.Junction, m.Cards[0].Readings.Memory = 511000, 255000, 119000
	m.Cards[0].Readings.EdgeLimits.Critical = 511000
	_, source, _ := simulate(t, m, withoutProcesses)
	d := &read(t, source).Devices[0]
	assert.False(t, d.Temperature[gpu.SensorEdge].Known())
	assert.False(t, d.Temperature[gpu.SensorHotspot].Known())
	assert.Equal(t, gpu.Some(119.0), d.Temperature[gpu.SensorMemory])
	assert.False(t, d.TemperatureLimit[gpu.SensorEdge][gpu.LimitDegraded].Known())
	assert.Equal(t, gpu.Some(105.0), d.TemperatureLimit[gpu.SensorEdge][gpu.LimitCritical])
}

// TestNumbersWithoutValue: placeholders that firmware and kernel write for a missing value are absent, in files and in the table.
func TestNumbersWithoutValue(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].Metrics = nil
	r := &m.Cards[0].Readings
	r.Edge, r.Junction, r.Memory, r.VRAM, r.VRAMUsed = -1000, -1, 0, 0, 0
	r.GraphicsLevels, r.GraphicsLevel = []int{0}, 0
	_, source, _ := simulate(t, m, withoutProcesses)
	d := &read(t, source).Devices[0]
	assert.Equal(t, [gpu.NumSensors]gpu.Opt[float64]{}, d.Temperature)
	assert.Equal(t, gpu.Some(m.Cards[0].Partitions[0].Memory), d.Memory.Limit, "as the compute driver has it")
	assert.False(t, d.Memory.Usage.Known())
	assert.False(t, d.Clocks[gpu.ClockGraphics].Limit.Known())
	assert.Equal(t, gpu.StateOK, d.State())
}

// TestReplaysOfOnes: the driver adds up two registers of 32 bits, whose bits are all set when the GPU is off the bus.
func TestReplaysOfOnes(t *testing.T) {
	for text, want := range map[string]bool{
		"8589934590": false, "4294967295": false, "4294967302": false, "18446744073709551615": false, "7": true, "0": true,
	} {
		m := amdgpusim.MI100()
		tree, source, _ := simulate(t, m, gpu.GroupPCIeReplay)
		require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/pcie_replay_count"), []byte(text+"\n"), 0o600))
		node := read(t, source)
		assert.Equal(t, want, node.Devices[0].PCIe.Replays.Known(), text)
		assert.True(t, node.Devices[1].PCIe.Replays.Known())
	}
}

// TestNoTable: on older GPUs the table's file is empty. That is not a failure, even if only the table is wanted.
func TestNoTable(t *testing.T) {
	m := amdgpusim.APU()
	tree, source, _ := simulate(t, m, gpu.GroupThrottle|gpu.GroupEnergy)
	require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), nil, 0o600))
	node := read(t, source)
	assert.Empty(t, node.Problems)
	assert.Equal(t, gpu.StateOK, node.Devices[0].State())
}

// TestMilliwatts: the firmware of Granite Ridge reports watts, which the driver takes for milliwatts (12.00 mW for a busy processor,
// https://github.com/flightlessmango/MangoHud/issues/1874).
func TestMilliwatts(t *testing.T) {
	for microwatts, want := range map[int64]gpu.Opt[float64]{12_000: {}, 230_000: {}, 1_200_000: gpu.Some(1.2)} {
		m := amdgpusim.APU()
		m.Cards[0].Readings.Instant = microwatts
		_, source, _ := simulate(t, m, withoutProcesses)
		d := &read(t, source).Devices[0]
		assert.Equal(t, want, d.Power.Module)
		assert.Equal(t, want.Known(), d.Power.Draw.Known())
	}
}
