// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	typeU8  = 0
	typeS16 = 3
	typeU16 = 2
	typeU32 = 4
	typeU64 = 6
)

// tableWriter writes a table that describes itself.
type tableWriter struct {
	text  []byte
	count uint32
}

func (w *tableWriter) add(id attributeID, kind, unit int, values ...uint64) {
	w.count++
	encoding := uint64(unit)<<unitShift | uint64(kind)<<typeShift | uint64(id)<<idShift | uint64(len(values))
	w.text = binary.LittleEndian.AppendUint64(w.text, encoding)
	for _, v := range values {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v)
		w.text = append(w.text, word[:1<<(kind/2)]...)
	}
}

func (w *tableWriter) table(format, content byte) []byte {
	head := make([]byte, 8, 8+len(w.text))
	binary.LittleEndian.PutUint16(head, uint16(8+len(w.text)))
	head[2], head[3] = format, content
	binary.LittleEndian.PutUint32(head[4:], w.count)
	return append(head, w.text...)
}

func describing(format, content byte, id attributeID, kind int, values ...uint64) []byte {
	var w tableWriter
	w.add(id, kind, 0, values...)
	return w.table(format, content)
}

func TestDescribingTable(t *testing.T) {
	var w tableWriter
	w.add(attributeHotspot, typeU16, 2, 55)
	w.add(attributeMemory, typeU16, 2, 44)
	w.add(attributeHBM, typeU16, 2, 45, 0xffff, 49)
	w.add(attributePower, typeU16, 3, 901)
	w.add(attributeGFXActivity, typeU16, 10, 88)
	w.add(attributeUMCActivity, typeU16, 10, 0xffff)
	w.add(attributeEnergy, typeU64, 0, 1<<41)
	w.add(attributeClockCounter, typeU64, 4, 777)
	w.add(attributeAccumulations, typeU32, 0, 1000)
	for i := range numResidencies {
		w.add(attributeProchot+attributeID(i), typeU32, 0, uint64(10+i))
	}
	w.add(attributeLinkWidth, typeU16, 0, 16)
	w.add(attributeLinkSpeed, typeU16, 6, 64)
	w.add(attributeReplays, typeU64, 0, 3)
	w.add(attributeXGMIRead, typeU64, 9, 1, 2, 3)
	w.add(attributeXGMIWrite, typeU64, 9, 4, 5, 6)
	w.add(attributeGFXClock, typeU16, 1, 2000, 2300)
	w.add(attributeVideoClock, typeU16, 1, 1200)
	w.add(attributeMemoryClock, typeU16, 1, 1900)
	w.add(attributeJPEGBusy, typeU16, 10, 20, 40)
	w.add(attributePartitions, typeU16, 0, 2)
	w.add(900, typeS16, 0, 1, 2, 3) // what a later kernel may add
	w.add(901, typeU8, 0, 1)
	var m metrics
	d := newDecoder()
	require.NoError(t, d.decode(&m, w.table(1, 9)))
	assert.Equal(t, gpu.Some(55.0), m.temperature[gpu.SensorHotspot])
	assert.Equal(t, gpu.Some(49.0), m.temperature[gpu.SensorMemory])
	assert.Equal(t, gpu.Some(901.0), m.currentPower)
	assert.Equal(t, gpu.Some(0.88), m.gfx)
	assert.False(t, m.controller.Known())
	assert.Equal(t, gpu.Some[uint64](1<<41), m.energy)
	assert.Equal(t, gpu.Some[uint64](777), m.clockCounter)
	assert.Equal(t, gpu.Some[uint32](1000), m.accumulations)
	for i := range m.residencies {
		assert.Equal(t, gpu.Some(uint32(10+i)), m.residencies[i])
	}
	assert.Equal(t, gpu.Some[int64](6), m.linkGeneration)
	assert.Equal(t, gpu.Some[int64](16), m.linkWidth)
	assert.Equal(t, gpu.Some[uint64](3), m.replays)
	assert.Equal(t, gpu.Some[uint64](2), m.xgmiRead[1])
	assert.Equal(t, gpu.Some[uint64](6), m.xgmiWritten[2])
	assert.False(t, m.xgmiRead[3].Known())
	assert.Equal(t, gpu.Some(2300e6), m.gfxClock)
	assert.Equal(t, gpu.Some(1200e6), m.videoClock)
	assert.Equal(t, gpu.Some(1900e6), m.memoryClock)
	assert.Equal(t, gpu.Some(0.3), m.jpeg)
	assert.Equal(t, gpu.Some[uint64](2), m.partitions)
}

// The stacks' own temperatures count, of which the highest, wherever they stand in the table.
func TestDescribedMemoryTemperature(t *testing.T) {
	for name, tt := range map[string]struct {
		write func(w *tableWriter)
		want  float64
	}{
		"stacks last": {func(w *tableWriter) {
			w.add(attributeMemory, typeU16, 2, 44)
			w.add(attributeHBM, typeU16, 2, 45, 49)
		}, 49},
		"stacks first": {func(w *tableWriter) {
			w.add(attributeHBM, typeU16, 2, 45, 49)
			w.add(attributeMemory, typeU16, 2, 44)
		}, 49},
		"stacks not told": {func(w *tableWriter) {
			w.add(attributeMemory, typeU16, 2, 44)
			w.add(attributeHBM, typeU16, 2, 0xffff, 0xffff)
		}, 44},
	} {
		var w tableWriter
		tt.write(&w)
		var m metrics
		require.NoError(t, newDecoder().decode(&m, w.table(1, 9)), name)
		assert.Equal(t, gpu.Some(tt.want), m.temperature[gpu.SensorMemory], name)
	}
}

func TestRefusedDescriptions(t *testing.T) {
	good := describing(1, 9, attributePower, typeU16, 300)
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
			var m metrics
			require.ErrorIs(t, newDecoder().decode(&m, text), errGarbage)
		})
	}
}

func TestShareTables(t *testing.T) {
	d := newDecoder()
	var w tableWriter
	w.add(attributeGFXBusy, typeU32, 10, 10, 20)
	w.add(attributeJPEGBusy, typeU16, 10, 50)
	s, err := d.decodeShare(w.table(1, 1))
	require.NoError(t, err)
	assert.Equal(t, share{gfx: gpu.Some(0.15), jpeg: gpu.Some(0.5)}, s)

	fixed := make([]byte, d.partition.size)
	for i := range fixed {
		fixed[i] = 0xff
	}
	binary.LittleEndian.PutUint16(fixed, uint16(len(fixed)))
	fixed[2], fixed[3] = 1, 0
	at := d.partition.fields[fieldGFXActivity].offset
	binary.LittleEndian.PutUint32(fixed[at:], 62)
	s, err = d.decodeShare(fixed)
	require.NoError(t, err)
	assert.Equal(t, share{gfx: gpu.Some(0.62)}, s)

	fixed[0]--
	_, err = d.decodeShare(fixed)
	require.ErrorIs(t, err, errGarbage)
	_, err = d.decodeShare(w.table(7, 7))
	require.ErrorIs(t, err, errRevision)
	_, err = d.decodeShare([]byte{1})
	require.ErrorIs(t, err, errGarbage)
}
