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
	attributeVRSoC         attributeID = 2
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
	attributeXGMIWidth     attributeID = 18
	attributeXGMISpeed     attributeID = 19
	attributeRecoveries    attributeID = 24
	attributeReplays       attributeID = 25
	attributeRollovers     attributeID = 26
	attributeNAKsSent      attributeID = 27
	attributeNAKsReceived  attributeID = 28
	attributeXGMIRead      attributeID = 29
	attributeXGMIWrite     attributeID = 30
	attributeXGMIStatus    attributeID = 31
	attributeGFXClock      attributeID = 33
	attributeVideoClock    attributeID = 35
	attributeMemoryClock   attributeID = 37
	attributePartitions    attributeID = 38
	attributeGFXBusy       attributeID = 40
	attributeJPEGBusy      attributeID = 41
	attributeVideoBusy     attributeID = 42
	attributeBelowPower    attributeID = 44
	attributeBelowThermal  attributeID = 45
	attributeLowUse        attributeID = 46
	attributeHBM           attributeID = 48
	attributeMID           attributeID = 49
	attributeAID           attributeID = 50
	attributeXCD           attributeID = 51
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
func (a *attribute) first() gpu.Opt[uint64] { return a.value(0) }

func (a *attribute) value(i int) gpu.Opt[uint64] {
	if i >= len(a.values) {
		return gpu.Opt[uint64]{}
	}
	return a.values[i]
}

// attributes returns the attributes of a table, which must be complete to the last byte. Signed attributes are left out because none of
// them is used.
func attributes(text []byte) ([]attribute, error) {
	if len(text) < attributesAt {
		return nil, fmt.Errorf("%d bytes without attributes: %w", len(text), ErrFormat)
	}
	remaining := int(int32(binary.LittleEndian.Uint32(text[4:])))
	text = text[attributesAt:]
	var result []attribute
	for ; remaining > 0; remaining-- {
		if len(text) < encodingSize {
			return nil, fmt.Errorf("the table ends %d attributes early: %w", remaining, ErrFormat)
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
