// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"encoding/binary"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// From revision 1.9 on the table describes itself: the header, a number of attributes, and for each a 64-bit word that says
// its unit, type, id and how many values follow, then the values, packed (AMDGPU_METRICS_ENC_ATTR, DECLARE_SMU_METRICS_CLASS).
const (
	attributesAt   = 8
	encodingSize   = 8
	unitShift      = 24
	typeShift      = 20
	idShift        = 10
	unitMask       = 0xff
	typeMask       = 0xf
	idMask         = 0x3ff
	instanceMask   = 0x3ff
	numSignedTypes = 8
)

// attributeID is enum amdgpu_metrics_attr_id.
type attributeID uint16

const (
	attributeHotspot       attributeID = 0
	attributeMemory        attributeID = 1
	attributePower         attributeID = 3
	attributeGFXActivity   attributeID = 4
	attributeUMCActivity   attributeID = 5
	attributeEnergy        attributeID = 7
	attributeClockCounter  attributeID = 8
	attributeAccumulations attributeID = 9
	attributeProchot       attributeID = 10
	attributeHBMThermal    attributeID = 14
	attributeLinkWidth     attributeID = 16
	attributeLinkSpeed     attributeID = 17
	attributeReplays       attributeID = 25
	attributeXGMIRead      attributeID = 29
	attributeXGMIWrite     attributeID = 30
	attributeGFXClock      attributeID = 33
	attributeVideoClock    attributeID = 35
	attributeMemoryClock   attributeID = 37
	attributePartitions    attributeID = 38
	attributeGFXBusy       attributeID = 40
	attributeJPEGBusy      attributeID = 41
	attributeHBM           attributeID = 48
)

// attributeUnit is enum amdgpu_metrics_attr_unit.
type attributeUnit uint8

const unitGTs attributeUnit = 6 // the next is in tenths of it

// attribute is one attribute and its values.
type attribute struct {
	id     attributeID
	unit   attributeUnit
	size   int // bytes of a value
	values []byte
}

func (a *attribute) count() int { return len(a.values) / a.size }

func (a *attribute) uint(i int) gpu.Opt[uint64] {
	if i >= a.count() {
		return gpu.Opt[uint64]{}
	}
	return value(a.values[i*a.size:], a.size)
}

func (a *attribute) uint32() gpu.Opt[uint32] {
	v, ok := a.uint(0).Get()
	if !ok || v > 1<<32-1 {
		return gpu.Opt[uint32]{}
	}
	return gpu.Some(uint32(v))
}

// each hands over every attribute of a table that is whole to the last byte.
func eachAttribute(text []byte, take func(attribute)) error {
	if len(text) < attributesAt {
		return fmt.Errorf("table of %d bytes: %w", len(text), errGarbage)
	}
	left := int(int32(binary.LittleEndian.Uint32(text[4:])))
	text = text[attributesAt:]
	for ; left > 0; left-- {
		if len(text) < encodingSize {
			return fmt.Errorf("table ends with %d attributes to come: %w", left, errGarbage)
		}
		encoding := binary.LittleEndian.Uint64(text)
		kind := int(encoding >> typeShift & typeMask)
		if kind >= numSignedTypes {
			return fmt.Errorf("attribute of type %d: %w", kind, errGarbage)
		}
		a := attribute{
			id:   attributeID(encoding >> idShift & idMask),
			unit: attributeUnit(encoding >> unitShift & unitMask),
			size: 1 << (kind / 2), // U8, S8, U16, S16, …
		}
		text = text[encodingSize:]
		length := a.size * int(encoding&instanceMask)
		if length > len(text) {
			return fmt.Errorf("table ends within attribute %d: %w", a.id, errGarbage)
		}
		a.values, text = text[:length], text[length:]
		if kind%2 == 0 { // nothing that is made use of is signed
			take(a)
		}
	}
	if len(text) > 0 {
		return fmt.Errorf("table has %d bytes after its last attribute: %w", len(text), errGarbage)
	}
	return nil
}

func (*decoder) decodeAttributes(m *metrics, text []byte) error {
	var speed, width gpu.Opt[uint64]
	err := eachAttribute(text, func(a attribute) {
		switch a.id {
		case attributeLinkWidth:
			width = a.uint(0)
		case attributeLinkSpeed:
			speed = a.uint(0)
			if v, ok := speed.Get(); ok && a.unit == unitGTs {
				speed = gpu.Some(v * 10)
			}
		default:
			m.takeSensor(&a)
			m.takeCounter(&a)
		}
	})
	if err != nil {
		return fmt.Errorf("gpu_metrics v%d.%d: %w", m.revision.format, m.revision.content, err)
	}
	m.linkGeneration, m.linkWidth = link(speed, width)
	return nil
}

func (m *metrics) takeSensor(a *attribute) {
	switch a.id {
	case attributeHotspot:
		m.temperature[gpu.SensorHotspot] = a.float(1, coldest, hottest)
	case attributeMemory:
		m.temperature[gpu.SensorMemory] = m.temperature[gpu.SensorMemory].Or(a.float(1, coldest, hottest))
	case attributeHBM:
		m.temperature[gpu.SensorMemory] = a.hottest().Or(m.temperature[gpu.SensorMemory])
	case attributePower:
		m.currentPower = a.float(1, 0, mostPower)
	case attributeGFXActivity:
		m.gfx = a.float(percent, 0, 1)
	case attributeUMCActivity:
		m.controller = a.float(percent, 0, 1)
	case attributeJPEGBusy:
		m.jpeg = a.mean()
	case attributeGFXClock:
		m.gfxClock = a.fastest()
	case attributeVideoClock:
		m.videoClock = a.fastest()
	case attributeMemoryClock:
		m.memoryClock = a.fastest()
	}
}

func (m *metrics) takeCounter(a *attribute) {
	switch a.id {
	case attributeEnergy:
		m.energy = a.uint(0)
	case attributeClockCounter:
		m.clockCounter = a.uint(0)
	case attributeAccumulations:
		m.accumulations = a.uint32()
	case attributeReplays:
		m.replays = a.uint(0)
	case attributePartitions:
		m.partitions = a.uint(0)
	case attributeXGMIRead:
		for i := range maxLinks {
			m.xgmiRead[i] = a.uint(i)
		}
	case attributeXGMIWrite:
		for i := range maxLinks {
			m.xgmiWritten[i] = a.uint(i)
		}
	default:
		// The residencies are numbered in the order of residencyFields.
		if a.id >= attributeProchot && a.id <= attributeHBMThermal {
			m.residencies[a.id-attributeProchot] = a.uint32()
		}
	}
}

func (a *attribute) float(per, low, high float64) gpu.Opt[float64] {
	return scaled(a.uint(0), per, low, high)
}

func (a *attribute) hottest() gpu.Opt[float64] {
	return scaled(highest(a.count(), a.uint), 1, coldest, hottest)
}

func (a *attribute) fastest() gpu.Opt[float64] { return hertz(highest(a.count(), a.uint)) }

func (a *attribute) mean() gpu.Opt[float64] { return mean(a.count(), a.uint) }

// decodeShare reads the table of a single partition (xcp_metrics): 1.1 describes itself, 1.0 does not.
func (d *decoder) decodeShare(text []byte) (share, error) {
	var s share
	if len(text) < 4 {
		return s, fmt.Errorf("xcp_metrics of %d bytes: %w", len(text), errGarbage)
	}
	size := int(binary.LittleEndian.Uint16(text))
	r := revision{format: text[2], content: text[3]}
	if size > len(text) {
		return s, fmt.Errorf("xcp_metrics v%d.%d gives its size as %d bytes, of which there are %d: %w",
			r.format, r.content, size, len(text), errGarbage)
	}
	text = text[:size]
	switch r {
	case revision{1, 0}:
		if size != d.partition.size {
			return s, fmt.Errorf("xcp_metrics v1.0 of %d bytes: no size of that revision: %w", size, errGarbage)
		}
		c := cursor{text, d.partition}
		return share{gfx: c.mean(fieldGFXActivity), jpeg: c.mean(fieldJPEG)}, nil
	case revision{1, 1}:
		err := eachAttribute(text, func(a attribute) {
			switch a.id {
			case attributeGFXBusy:
				s.gfx = a.mean()
			case attributeJPEGBusy:
				s.jpeg = a.mean()
			}
		})
		if err != nil {
			return share{}, fmt.Errorf("xcp_metrics v1.1: %w", err)
		}
		return s, nil
	}
	return s, fmt.Errorf("xcp_metrics v%d.%d: %w", r.format, r.content, errRevision)
}
