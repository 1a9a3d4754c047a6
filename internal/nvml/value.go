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
		return unsigned(u32)
	case typeUnsignedLong, typeUnsignedLongLong:
		return long(u64)
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

// unsigned and long are numbers as NVML hands them out, by whichever function. One with every bit set is none; so is a long one with
// every bit set of the 32 that the driver has for many.
func unsigned(n uint32) (value, bool) {
	if n == math.MaxUint32 {
		return value{}, false
	}
	return value{unsigned: uint64(n), real: float64(n), whole: true}, true
}

func long(n uint64) (value, bool) {
	if n == math.MaxUint64 || n == math.MaxUint32 {
		return value{}, false
	}
	return value{unsigned: n, real: float64(n), whole: true}, true
}

// signed is an unsigned number that was meant to have a sign.
func signed(v value, ok bool) (value, bool) {
	return value{real: float64(int32(uint32(v.unsigned)))}, ok
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
