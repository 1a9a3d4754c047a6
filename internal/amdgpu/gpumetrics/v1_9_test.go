// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// attributeTable makes a table that describes itself.
type attributeTable struct{ amdgpusim.AttributeTable }

func (t *attributeTable) add(id attributeID, kind amdgpusim.AttributeType, unit uint, values ...uint64) {
	t.Add(uint(id), kind, unit, values...)
}

// oneAttribute returns a table with one attribute.
func oneAttribute(format, content byte, id attributeID, kind amdgpusim.AttributeType, values ...uint64) []byte {
	var table attributeTable
	table.add(id, kind, 0, values...)
	return table.Encode(format, content)
}

func TestAttributes(t *testing.T) {
	var w attributeTable
	w.add(attributeHotspot, amdgpusim.AttributeU16, 2, 55)
	w.add(attributeMemory, amdgpusim.AttributeU16, 2, 44)
	w.add(attributeHBM, amdgpusim.AttributeU16, 2, 45, 0xffff, 49)
	w.add(attributePower, amdgpusim.AttributeU16, 3, 901)
	w.add(attributeGFXActivity, amdgpusim.AttributeU16, 10, 88)
	w.add(attributeUMCActivity, amdgpusim.AttributeU16, 10, 0xffff)
	w.add(attributeEnergy, amdgpusim.AttributeU64, 0, 1<<41)
	w.add(attributeClockCounter, amdgpusim.AttributeU64, 4, 777)
	w.add(attributeAccumulations, amdgpusim.AttributeU32, 0, 1000)
	for i := range NumResidencies {
		w.add(attributeProchot+attributeID(i), amdgpusim.AttributeU32, 0, uint64(10+i))
	}
	w.add(attributeLinkWidth, amdgpusim.AttributeU16, 0, 16)
	w.add(attributeLinkSpeed, amdgpusim.AttributeU16, 6, 64)
	w.add(attributeRecoveries, amdgpusim.AttributeU64, 0, 4)
	w.add(attributeReplays, amdgpusim.AttributeU64, 0, 3)
	w.add(attributeRollovers, amdgpusim.AttributeU64, 0, 5)
	w.add(attributeNAKsSent, amdgpusim.AttributeU32, 0, 6)
	w.add(attributeNAKsReceived, amdgpusim.AttributeU32, 0, 0xffffffff)
	w.add(attributeXGMIWidth, amdgpusim.AttributeU16, 0, 16)
	w.add(attributeXGMISpeed, amdgpusim.AttributeU16, 0, 38)
	w.add(attributeXGMIStatus, amdgpusim.AttributeU16, 0, 1, 0, 2, 0xffff)
	w.add(attributeVRSoC, amdgpusim.AttributeU16, 2, 61)
	w.add(attributeAID, amdgpusim.AttributeU16, 2, 62, 0)
	w.add(attributeVideoBusy, amdgpusim.AttributeU16, 10, 10, 30, 0xffff)
	w.add(attributeGFXBusy, amdgpusim.AttributeU32, 10, 5, 0xffffffff, 7, 0xffffffff)
	w.add(attributeBelowPower, amdgpusim.AttributeU64, 0, 1, 2)
	w.add(attributeBelowThermal, amdgpusim.AttributeU64, 0, 3, 4)
	w.add(attributeLowUse, amdgpusim.AttributeU64, 0, 5, 6)
	w.add(attributeXGMIRead, amdgpusim.AttributeU64, 9, 1, 2, 3)
	w.add(attributeXGMIWrite, amdgpusim.AttributeU64, 9, 4, 5, 6)
	w.add(attributeGFXClock, amdgpusim.AttributeU16, 1, 2000, 2300)
	w.add(attributeVideoClock, amdgpusim.AttributeU16, 1, 1200)
	w.add(attributeMemoryClock, amdgpusim.AttributeU16, 1, 1900)
	w.add(attributeJPEGBusy, amdgpusim.AttributeU16, 10, 20, 40)
	w.add(attributePartitions, amdgpusim.AttributeU16, 0, 2)
	w.add(900, amdgpusim.AttributeS16, 0, 1, 2, 3) // what a later kernel may add
	w.add(901, amdgpusim.AttributeU8, 0, 1)
	d := NewDecoder()
	m, err := d.Decode(w.Encode(1, 9))
	require.NoError(t, err)
	assert.Equal(t, gpu.Some(55.0), m.Temperature[gpu.SensorHotspot])
	assert.Equal(t, gpu.Some(49.0), m.Temperature[gpu.SensorMemory])
	assert.Equal(t, gpu.Some(901.0), m.CurrentPower)
	assert.Equal(t, gpu.Some(0.88), m.GFXActivity)
	assert.False(t, m.UMCActivity.Known())
	assert.Equal(t, gpu.Some[uint64](1<<41), m.Energy)
	assert.Equal(t, gpu.Some[uint64](777), m.ClockCounter)
	assert.Equal(t, gpu.Some[uint64](1000), m.Accumulations)
	for i := range m.Residencies {
		assert.Equal(t, gpu.Some(uint64(10+i)), m.Residencies[i])
	}
	assert.Equal(t, gpu.Some[int64](6), m.LinkGen)
	assert.Equal(t, gpu.Some[int64](16), m.LinkWidth)
	some := gpu.Some[uint64]
	assert.Equal(t, PCIeCounts{Replays: some(3), Rollovers: some(5), Recoveries: some(4), NAKsSent: some(6)}, m.PCIe)
	assert.Equal(t, some(16), m.XGMIWidth)
	assert.Equal(t, some(38), m.XGMISpeed)
	assert.Equal(t, [MaxLinks]gpu.Opt[bool]{gpu.Some(true), gpu.Some(false)}, m.XGMIUp)
	assert.Equal(t, []gpu.SensorValue{sensor("hbm0", 45), sensor("hbm2", 49), sensor("vr_soc", 61), sensor("aid0", 62)}, m.Details)
	assert.Equal(t, gpu.Some(0.2), m.Video)
	assert.Equal(t, []XCC{{gpu.Some(0.05), some(1), some(3), some(5)}, {BelowPower: some(2), BelowThermal: some(4), LowUse: some(6)}, {Busy: gpu.Some(0.07)}},
		m.XCCs)
	assert.Equal(t, gpu.Some[uint64](2), m.XGMIRead[1])
	assert.Equal(t, gpu.Some[uint64](6), m.XGMIWritten[2])
	assert.False(t, m.XGMIRead[3].Known())
	assert.Equal(t, gpu.Some(2300e6), m.GFXClock)
	assert.Equal(t, gpu.Some(1200e6), m.VideoClock)
	assert.Equal(t, gpu.Some(1900e6), m.MemoryClock)
	assert.Equal(t, gpu.Some(0.3), m.JPEG)
	assert.Equal(t, gpu.Some[uint64](2), m.Partitions)
}

// The highest temperature of the stacks counts, at any place in the table.
func TestAttributesOfMemoryTemperature(t *testing.T) {
	for name, tt := range map[string]struct {
		write func(w *attributeTable)
		want  float64
	}{
		"stacks last": {func(w *attributeTable) {
			w.add(attributeMemory, amdgpusim.AttributeU16, 2, 44)
			w.add(attributeHBM, amdgpusim.AttributeU16, 2, 45, 49)
		}, 49},
		"stacks first": {func(w *attributeTable) {
			w.add(attributeHBM, amdgpusim.AttributeU16, 2, 45, 49)
			w.add(attributeMemory, amdgpusim.AttributeU16, 2, 44)
		}, 49},
		"stacks unread": {func(w *attributeTable) {
			w.add(attributeMemory, amdgpusim.AttributeU16, 2, 44)
			w.add(attributeHBM, amdgpusim.AttributeU16, 2, 0xffff, 0xffff)
		}, 44},
	} {
		var w attributeTable
		tt.write(&w)
		m, err := NewDecoder().Decode(w.Encode(1, 9))
		require.NoError(t, err, name)
		assert.Equal(t, gpu.Some(tt.want), m.Temperature[gpu.SensorMemory], name)
	}
}

func TestMalformedAttributes(t *testing.T) {
	good := oneAttribute(1, 9, attributePower, amdgpusim.AttributeU16, 300)
	rest := append(append([]byte{}, good...), 0, 0)
	rest[0] += 2
	short := append([]byte{}, good[:len(good)-1]...)
	short[0]--
	half := append([]byte{}, good[:12]...)
	half[0] = 12
	kind := append([]byte{}, good...)
	kind[10] |= 0xf0
	for name, text := range map[string][]byte{
		"bytes left":            rest,
		"values cut off":        short,
		"encoding cut off":      half,
		"no type of that":       kind,
		"no count of attribute": {4, 0, 1, 9},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewDecoder().Decode(text)
			require.ErrorIs(t, err, ErrFormat)
		})
	}
}

// SMU 15.0.8 has residencies of 64 bits, and one XGMI value for all links together.
func TestAttributesOfSMU15(t *testing.T) {
	var w attributeTable
	w.add(attributeAccumulations, amdgpusim.AttributeU64, 0, 5<<32+1000)
	w.add(attributeProchot, amdgpusim.AttributeU64, 0, 1<<32+7)
	w.add(attributeHBMThermal, amdgpusim.AttributeU64, 0, 1<<64-1)
	w.add(attributeXGMIRead, amdgpusim.AttributeU64, 9, 123)
	w.add(attributeXGMIWrite, amdgpusim.AttributeU64, 9, 456)
	m, err := NewDecoder().Decode(w.Encode(1, 9))
	require.NoError(t, err)
	assert.Equal(t, gpu.Some[uint64](5<<32+1000), m.Accumulations)
	assert.Equal(t, gpu.Some[uint64](1<<32+7), m.Residencies[ResidencyProchot])
	assert.False(t, m.Residencies[ResidencyHBMThermal].Known())
	assert.Equal(t, gpu.Some[uint64](123), m.XGMIReadSum)
	assert.Equal(t, gpu.Some[uint64](456), m.XGMIWrittenSum)
	assert.Empty(t, m.XGMIRead)
	assert.Empty(t, m.XGMIWritten)
}
