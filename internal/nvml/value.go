// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"encoding/binary"
	"math"
)

// The types of nvmlValueType_t.
const (
	typeDouble           = 0
	typeUnsignedInt      = 1
	typeUnsignedLong     = 2
	typeUnsignedLongLong = 3
	typeSignedLongLong   = 4
	typeSignedInt        = 5
	typeUnsignedShort    = 6
)

// value is what a field holds.
type value struct {
	unsigned uint64  // of the unsigned types
	real     float64 // of all types
	whole    bool    // not a float
}

// decode reads the union in which NVML hands out a field's value. A value of which every bit is set is NVML's way of
// saying that it has none.
func decode(kind uint32, raw [8]byte) (value, bool) {
	u64 := binary.NativeEndian.Uint64(raw[:])
	u32 := binary.NativeEndian.Uint32(raw[:])
	switch kind {
	case typeDouble:
		f := math.Float64frombits(u64)
		return value{real: f}, !math.IsNaN(f) && !math.IsInf(f, 0)
	case typeUnsignedInt:
		return value{unsigned: uint64(u32), real: float64(u32), whole: true}, u32 != math.MaxUint32
	case typeUnsignedLong, typeUnsignedLongLong:
		return value{unsigned: u64, real: float64(u64), whole: true}, u64 != math.MaxUint64
	case typeSignedLongLong:
		i := int64(u64)
		return value{unsigned: uint64(max(i, 0)), real: float64(i), whole: true}, true
	case typeSignedInt:
		i := int32(u32)
		return value{unsigned: uint64(max(i, 0)), real: float64(i), whole: true}, true
	case typeUnsignedShort:
		u16 := binary.NativeEndian.Uint16(raw[:])
		return value{unsigned: uint64(u16), real: float64(u16), whole: true}, u16 != math.MaxUint16
	default:
		return value{}, false
	}
}

// total returns a count that fits where counts are kept.
func (v value) total() (int64, bool) {
	if !v.whole || v.real < 0 || v.unsigned > math.MaxInt64 {
		return 0, false
	}
	return int64(v.unsigned), true
}

// bytes returns a number of bytes; the largest numbers are NVML's way of saying that there is none.
func bytes(v uint64) (int64, bool) {
	if v > math.MaxInt64 {
		return 0, false
	}
	return int64(v), true
}
