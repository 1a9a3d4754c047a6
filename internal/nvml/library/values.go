// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"encoding/binary"
	"math"
)

// The types of nvmlValueType_t.
const (
	TypeDouble           = 0
	TypeUnsignedInt      = 1
	TypeUnsignedLong     = 2
	TypeUnsignedLongLong = 3
	TypeSignedLongLong   = 4
	TypeSignedInt        = 5
	TypeUnsignedShort    = 6
)

// Value is a number as NVML reports it.
type Value struct {
	Unsigned uint64  // of an unsigned type
	Real     float64 // of any type
	Whole    bool    // not a float
}

// Decode reads the union in which NVML returns a field's value (nvmlValue_t). NVML sets every bit if it has no value.
func Decode(kind uint32, raw [8]byte) (Value, bool) {
	u64 := binary.NativeEndian.Uint64(raw[:])
	u32 := binary.NativeEndian.Uint32(raw[:])
	switch kind {
	case TypeDouble:
		f := math.Float64frombits(u64)
		return Value{Real: f}, !math.IsNaN(f) && !math.IsInf(f, 0)
	case TypeUnsignedInt:
		return Uint32(u32)
	case TypeUnsignedLong, TypeUnsignedLongLong:
		return Uint64(u64)
	case TypeSignedLongLong:
		return signed(int64(u64)), true
	case TypeSignedInt:
		return signed(int64(int32(u32))), true
	case TypeUnsignedShort:
		u16 := binary.NativeEndian.Uint16(raw[:])
		return Value{Unsigned: uint64(u16), Real: float64(u16), Whole: true}, u16 != math.MaxUint16
	default:
		return Value{}, false
	}
}

func signed(i int64) Value {
	return Value{Unsigned: uint64(max(i, 0)), Real: float64(i), Whole: true}
}

// Uint32 is a number that a function returns as an unsigned int. NVML sets every bit if it has no value.
func Uint32(n uint32) (Value, bool) {
	if n == math.MaxUint32 {
		return Value{}, false
	}
	return Value{Unsigned: uint64(n), Real: float64(n), Whole: true}, true
}

// Uint64 is a number that a function returns as an unsigned long long. NVML sets every bit if it has no value, or every bit of the 32 that
// the driver has for many numbers.
func Uint64(n uint64) (Value, bool) {
	if n == math.MaxUint64 || n == math.MaxUint32 {
		return Value{}, false
	}
	return Value{Unsigned: n, Real: float64(n), Whole: true}, true
}

// Signed is the number that NVML returns as an unsigned int although it has a sign.
func (v Value) Signed() Value { return Value{Real: float64(int32(uint32(v.Unsigned)))} }

// Count returns the value as a count, if it is one.
func (v Value) Count() (int64, bool) {
	if !v.Whole || v.Real < 0 || v.Unsigned > math.MaxInt64 {
		return 0, false
	}
	return int64(v.Unsigned), true
}

// Bytes returns a number of bytes. The largest numbers mean that NVML has no value.
func Bytes(v uint64) (int64, bool) {
	if v > math.MaxInt64 {
		return 0, false
	}
	return int64(v), true
}
