// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func raw(v uint64) (b [8]byte) {
	binary.NativeEndian.PutUint64(b[:], v)
	return b
}

func raw32(v uint32) (b [8]byte) {
	binary.NativeEndian.PutUint32(b[:], v)
	b[7] = 0xaa // what the driver left there
	return b
}

func TestDecode(t *testing.T) {
	for name, tt := range map[string]struct {
		kind  uint32
		raw   [8]byte
		real  float64
		total int64
		ok    bool
	}{
		"double":             {TypeDouble, raw(math.Float64bits(1.5)), 1.5, -1, true},
		"not a number":       {TypeDouble, raw(math.Float64bits(math.NaN())), 0, -1, false},
		"infinity":           {TypeDouble, raw(math.Float64bits(math.Inf(1))), 0, -1, false},
		"int":                {TypeUnsignedInt, raw32(7), 7, 7, true},
		"no int":             {TypeUnsignedInt, raw32(math.MaxUint32), 0, -1, false},
		"long":               {TypeUnsignedLong, raw(1 << 40), 1 << 40, 1 << 40, true},
		"long long":          {TypeUnsignedLongLong, raw(math.MaxUint64), 0, -1, false},
		"too long":           {TypeUnsignedLongLong, raw(1 << 63), 1 << 63, -1, true},
		"signed":             {TypeSignedLongLong, raw(math.MaxUint64), -1, -1, true},
		"signed int":         {TypeSignedInt, raw32(0xFFFFFFF8), -8, -1, true},
		"positive":           {TypeSignedInt, raw32(8), 8, 8, true},
		"short":              {TypeUnsignedShort, raw(0x1_0005), 5, 5, true},
		"no short":           {TypeUnsignedShort, raw(0xFFFF), 0, -1, false},
		"type not known yet": {99, raw(5), 0, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			v, ok := Decode(tt.kind, tt.raw)
			assert.Equal(t, tt.ok, ok)
			if !ok {
				return
			}
			assert.InDelta(t, tt.real, v.Real, 0)
			n, fits := v.Count()
			assert.Equal(t, tt.total >= 0, fits)
			if fits {
				assert.Equal(t, tt.total, n)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint32(TypeDouble), uint64(math.MaxUint64))
	f.Add(uint32(TypeUnsignedInt), uint64(math.MaxUint32))
	f.Add(uint32(TypeSignedInt), uint64(0xFFFFFFF8))
	f.Fuzz(func(t *testing.T, kind uint32, bits uint64) {
		v, ok := Decode(kind, raw(bits))
		if ok && (math.IsNaN(v.Real) || math.IsInf(v.Real, 0)) {
			t.Errorf("%v", v)
		}
		if n, fits := v.Count(); fits && n < 0 {
			t.Errorf("a total of %d", n)
		}
	})
}

func TestBytes(t *testing.T) {
	for _, n := range []uint64{math.MaxUint64, math.MaxInt64 + 1} {
		_, ok := Bytes(n)
		assert.False(t, ok)
	}
	n, ok := Bytes(7)
	assert.True(t, ok)
	assert.Equal(t, int64(7), n)
}
