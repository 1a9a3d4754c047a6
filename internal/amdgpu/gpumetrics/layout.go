// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import "github.com/otelgpu/gpureceiver/internal/gpu"

// fieldID is a field of a table that is used.
type fieldID uint8

const (
	fieldNone fieldID = iota // not used
	fieldEdge
	fieldHotspot
	fieldMemory
	fieldHBM
	fieldVRGFX
	fieldVRSoC
	fieldVRMemory
	fieldVoltageGFX
	fieldVoltageSoC
	fieldVoltageMemory
	fieldGFXActivity
	fieldUMCActivity
	fieldVideo
	fieldJPEG
	fieldAveragePower
	fieldCurrentPower
	fieldSocketPower
	fieldGFXPower
	fieldEnergy
	fieldClockCounter
	fieldGFXClock
	fieldMemoryClock
	fieldVideoClock
	fieldThrottle
	fieldLinkWidth
	fieldLinkSpeed
	fieldReplays
	fieldRollovers
	fieldRecoveries
	fieldNAKsSent
	fieldNAKsReceived
	fieldXGMIWidth
	fieldXGMISpeed
	fieldXGMIStatus
	fieldXGMIRead
	fieldXGMIWrite
	fieldAccumulations
	fieldProchot
	fieldPPT
	fieldSocketThermal
	fieldVRThermal
	fieldHBMThermal
	fieldLimiterCounts
	fieldPartitions
	fieldActivity
	fieldBelowPower
	fieldBelowThermal
	fieldLowUse
	numFields
)

// field is one or several values of one size, at an offset.
type field struct {
	id     fieldID
	size   int // bytes: 1, 2, 4, 8, or the size of a whole structure
	count  int
	offset int
	align  int // if it is not the size
}

func u8(id fieldID) field          { return field{id: id, size: 1, count: 1} }
func u16(id fieldID) field         { return field{id: id, size: 2, count: 1} }
func u32(id fieldID) field         { return field{id: id, size: 4, count: 1} }
func u64(id fieldID) field         { return field{id: id, size: 8, count: 1} }
func u16s(id fieldID, n int) field { return field{id: id, size: 2, count: n} }
func u32s(id fieldID, n int) field { return field{id: id, size: 4, count: n} }
func u64s(id fieldID, n int) field { return field{id: id, size: 8, count: n} }
func pad16(n int) field            { return u16s(fieldNone, n) }
func structs(id fieldID, l *layout, n int) field {
	return field{id: id, size: l.size, count: n, align: l.align}
}

// layout locates the fields of one revision of the table.
type layout struct {
	size   int
	align  int
	fields [numFields]field // count 0: the revision lacks it
	// partition is the layout of the data of one partition; nil if the revision has no partitions.
	partition *layout
}

// newLayout lays fields out as C does: each at a multiple of its size, the size of the whole a multiple of the largest.
func newLayout(fields ...[]field) *layout {
	l := &layout{align: 1}
	for _, group := range fields {
		for _, f := range group {
			if f.align == 0 {
				f.align = f.size
			}
			l.align = max(l.align, f.align)
			f.offset = roundUp(l.size, f.align)
			l.size = f.offset + f.size*f.count
			if f.id != fieldNone {
				l.fields[f.id] = f
			}
		}
	}
	l.size = roundUp(l.size, l.align)
	return l
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// fields reads the fields of a table that has the size of the layout.
type fields struct {
	text   []byte
	layout *layout
}

// uint reads one of the values of a field.
func (t fields) uint(id fieldID, i int) gpu.Opt[uint64] {
	f := &t.layout.fields[id]
	if i >= f.count {
		return gpu.Opt[uint64]{}
	}
	return value(t.text[f.offset+i*f.size:], f.size)
}

// all reads all values of a field.
func (t fields) all(id fieldID) []gpu.Opt[uint64] {
	f := &t.layout.fields[id]
	if f.count == 0 {
		return nil
	}
	return values(t.text[f.offset:f.offset+f.count*f.size], f.size)
}

// partition returns the fields of one partition.
func (t fields) partition(i int) fields {
	f := &t.layout.fields[fieldActivity]
	start := f.offset + i*f.size
	return fields{t.text[start : start+f.size], t.layout.partition}
}

// activity reads the fields of a partition.
func (t fields) activity() PartitionActivity {
	return PartitionActivity{
		GFX: meanActivity(t.all(fieldGFXActivity)), JPEG: meanActivity(t.all(fieldJPEG)), Video: meanActivity(t.all(fieldVideo)),
	}
}
