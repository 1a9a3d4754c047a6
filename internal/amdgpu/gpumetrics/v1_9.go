// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import (
	"encoding/binary"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// From revision 1.9 on a table describes itself: the header, the number of attributes, and for each attribute a 64-bit word with
// its unit, type, id and number of values, then the values, packed (AMDGPU_METRICS_ENC_ATTR, DECLARE_SMU_METRICS_CLASS).
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

const unitGTs attributeUnit = 6 // the next unit is 0.1 GT/s

// attribute is one attribute and its values.
type attribute struct {
	id     attributeID
	unit   attributeUnit
	values []gpu.Opt[uint64]
}

// first returns the first value.
func (a *attribute) first() gpu.Opt[uint64] { return a.at(0) }

func (a *attribute) at(i int) gpu.Opt[uint64] {
	if i >= len(a.values) {
		return gpu.Opt[uint64]{}
	}
	return a.values[i]
}

// attributes returns the attributes of a table, which must be complete to the last byte. Signed attributes are left out because none is
// used.
func attributes(text []byte) ([]attribute, error) {
	if len(text) < attributesAt {
		return nil, fmt.Errorf("%d bytes without attributes: %w", len(text), ErrFormat)
	}
	left := int(int32(binary.LittleEndian.Uint32(text[4:])))
	text = text[attributesAt:]
	var result []attribute
	for ; left > 0; left-- {
		if len(text) < encodingSize {
			return nil, fmt.Errorf("the table ends %d attributes early: %w", left, ErrFormat)
		}
		encoding := binary.LittleEndian.Uint64(text)
		text = text[encodingSize:]
		kind := int(encoding >> typeShift & typeMask)
		if kind >= numSignedTypes {
			return nil, fmt.Errorf("attribute of type %d: %w", kind, ErrFormat)
		}
		id := attributeID(encoding >> idShift & idMask)
		size := 1 << (kind / 2) // U8, S8, U16, S16, …
		length := size * int(encoding&instanceMask)
		if length > len(text) {
			return nil, fmt.Errorf("the table ends within attribute %d: %w", id, ErrFormat)
		}
		if kind%2 == 0 {
			result = append(result, attribute{id, attributeUnit(encoding >> unitShift & unitMask), values(text[:length], size)})
		}
		text = text[length:]
	}
	if len(text) > 0 {
		return nil, fmt.Errorf("%d bytes after the last attribute: %w", len(text), ErrFormat)
	}
	return result, nil
}

// decodeAttributes decodes a table of revision 1.9.
func (t *Table) decodeAttributes(text []byte) error {
	all, err := attributes(text)
	if err != nil {
		return err
	}
	var speed, width gpu.Opt[uint64]
	for i := range all {
		a := &all[i]
		switch a.id {
		case attributeLinkWidth:
			width = a.first()
		case attributeLinkSpeed:
			speed = a.first()
			if v, ok := speed.Get(); ok && a.unit == unitGTs {
				speed = gpu.Some(v * 10)
			}
		default:
			t.setSensor(a)
			t.setCounter(a)
		}
	}
	t.setLink(speed, width)
	return nil
}

func (t *Table) setSensor(a *attribute) {
	switch a.id {
	case attributeHotspot:
		t.Temperature[gpu.SensorHotspot] = temperature(a.first())
	case attributeMemory: // the stacks are preferred, in whatever order the two come
		t.Temperature[gpu.SensorMemory] = t.Temperature[gpu.SensorMemory].Or(memoryTemperature(a.first()))
	case attributeHBM:
		t.Temperature[gpu.SensorMemory] = memoryTemperature(highest(a.values)).Or(t.Temperature[gpu.SensorMemory])
	case attributePower:
		t.CurrentPower = power(a.first())
	case attributeGFXActivity:
		t.GFXActivity = activity(a.first())
	case attributeUMCActivity:
		t.UMCActivity = activity(a.first())
	case attributeJPEGBusy:
		t.JPEG = meanActivity(a.values)
	case attributeGFXClock:
		t.GFXClock = clock(highest(a.values))
	case attributeVideoClock:
		t.VideoClock = clock(highest(a.values))
	case attributeMemoryClock:
		t.MemoryClock = clock(highest(a.values))
	}
}

func (t *Table) setCounter(a *attribute) {
	switch a.id {
	case attributeEnergy:
		t.Energy = a.first()
	case attributeClockCounter:
		t.ClockCounter = a.first()
	case attributeAccumulations:
		t.Accumulations = a.first()
	case attributeReplays:
		t.Replays = a.first()
	case attributePartitions:
		t.Partitions = a.first()
	case attributeXGMIRead:
		setXGMI(a, &t.XGMIRead, &t.XGMIReadSum)
	case attributeXGMIWrite:
		setXGMI(a, &t.XGMIWritten, &t.XGMIWrittenSum)
	default:
		// The residencies are numbered in the order of residencyFields.
		if a.id >= attributeProchot && a.id <= attributeHBMThermal {
			t.Residencies[a.id-attributeProchot] = a.first()
		}
	}
}

// setXGMI sets the values of the links. One value alone is the sum over all links (SMU 15.0.8), not the value of the first.
func setXGMI(a *attribute, links *[MaxLinks]gpu.Opt[uint64], sum *gpu.Opt[uint64]) {
	if len(a.values) == 1 {
		*sum = a.first()
		return
	}
	for i := range links {
		links[i] = a.at(i)
	}
}
