// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"encoding/binary"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const goodInformation = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 301\nGPU UUID: \t GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03\n" +
	"Video BIOS: \t 96.00.61.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nBus Location: \t 0000:9B:00.0\n" +
	"Device Minor: \t 3\nGPU Firmware: \t 580.95.05\nGPU Excluded:\t No\n"

func TestParseInformation(t *testing.T) {
	assert.Equal(t, information{
		model: "NVIDIA H100 80GB HBM3", uuid: "GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03", vbios: "96.00.61.00.01",
		address: "0000:9b:00.0", minor: gpu.Some(3),
	}, parseInformation(goodInformation))
	assert.Equal(t, information{model: "Unknown"}, parseInformation("Model: \t\t Unknown\nIRQ:   \t\t 0\n"+
		"GPU UUID: \t GPU-????????-????-????-????-????????????\nVideo BIOS: \t ??.??.??.??.??\nBus Location: \t nowhere\nDevice Minor: \t -1\n"))
	assert.True(t, parseInformation("GPU Excluded:\t Yes").excluded)
	assert.Equal(t, information{}, parseInformation(""))
	assert.Equal(t, information{}, parseInformation("GPU UUID: 12\nModel"))
	assert.Equal(t, information{model: "A"}, parseInformation(goodInformation[:9]+"A"))
}

func FuzzParseInformation(f *testing.F) {
	f.Add(goodInformation)
	f.Add("Model:\nGPU UUID: GPU-????\x00\nDevice Minor: 99999999999999999999\nBus Location: 0:0:0.0")
	f.Fuzz(func(t *testing.T, text string) {
		info := parseInformation(text)
		if info.uuid != "" && !strings.HasPrefix(info.uuid, "GPU-") {
			t.Errorf("UUID %q", info.uuid)
		}
		if n, ok := info.minor.Get(); ok && n < 0 {
			t.Errorf("minor number %d", n)
		}
	})
}

func TestNormalAddress(t *testing.T) {
	for in, want := range map[string]string{
		"0000:1b:00.0":         "0000:1b:00.0",
		"00000000:1B:00.0":     "0000:1b:00.0",
		"00010000:01:1F.7":     "10000:01:1f.7",
		"1:2:3.4":              "0001:02:03.4",
		"":                     "",
		"1b:00.0":              "",
		"0000:1b:00":           "",
		"0000:zz:00.0":         "",
		"0000:100:00.0":        "",
		"0000:1b:00.0.0":       "",
		"100000000:1b:00.0":    "",
		"0000:1b:00.0 garbage": "",
	} {
		assert.Equal(t, want, normalAddress(in), in)
	}
}

func FuzzNormalAddress(f *testing.F) {
	f.Add("00000000:1B:00.0")
	f.Add("0000:1b:00.0")
	f.Add(":::.")
	form := regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$`)
	f.Fuzz(func(t *testing.T, text string) {
		a := normalAddress(text)
		if a != "" && (!form.MatchString(a) || normalAddress(a) != a) {
			t.Errorf("%q became %q", text, a)
		}
	})
}

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
		"double":             {typeDouble, raw(math.Float64bits(1.5)), 1.5, -1, true},
		"not a number":       {typeDouble, raw(math.Float64bits(math.NaN())), 0, -1, false},
		"infinity":           {typeDouble, raw(math.Float64bits(math.Inf(1))), 0, -1, false},
		"int":                {typeUnsignedInt, raw32(7), 7, 7, true},
		"no int":             {typeUnsignedInt, raw32(math.MaxUint32), 0, -1, false},
		"long":               {typeUnsignedLong, raw(1 << 40), 1 << 40, 1 << 40, true},
		"long long":          {typeUnsignedLongLong, raw(math.MaxUint64), 0, -1, false},
		"too long":           {typeUnsignedLongLong, raw(1 << 63), 1 << 63, -1, true},
		"signed":             {typeSignedLongLong, raw(math.MaxUint64), -1, -1, true},
		"signed int":         {typeSignedInt, raw32(0xFFFFFFF8), -8, -1, true},
		"positive":           {typeSignedInt, raw32(8), 8, 8, true},
		"short":              {typeUnsignedShort, raw(0x1_0005), 5, 5, true},
		"no short":           {typeUnsignedShort, raw(0xFFFF), 0, -1, false},
		"type not known yet": {99, raw(5), 0, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			v, ok := decode(tt.kind, tt.raw)
			assert.Equal(t, tt.ok, ok)
			if !ok {
				return
			}
			assert.InDelta(t, tt.real, v.real, 0)
			n, fits := v.total()
			assert.Equal(t, tt.total >= 0, fits)
			if fits {
				assert.Equal(t, tt.total, n)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint32(typeDouble), uint64(math.MaxUint64))
	f.Add(uint32(typeUnsignedInt), uint64(math.MaxUint32))
	f.Add(uint32(typeSignedInt), uint64(0xFFFFFFF8))
	f.Fuzz(func(t *testing.T, kind uint32, bits uint64) {
		v, ok := decode(kind, raw(bits))
		if ok && (math.IsNaN(v.real) || math.IsInf(v.real, 0)) {
			t.Errorf("%v", v)
		}
		if n, fits := v.total(); fits && n < 0 {
			t.Errorf("a total of %d", n)
		}
		s := sample{time: 1, value: raw(bits)}
		var m mean
		m.add([]sample{s}, kind)
		if u, ok := m.take(); ok && (u < 0 || u > 1) {
			t.Errorf("utilization %v", u)
		}
	})
}

func TestByteCounts(t *testing.T) {
	assert.Equal(t, gpu.Some[int64](7), byteCount(7))
	assert.False(t, byteCount(math.MaxUint64).Known())
	assert.False(t, byteCount(math.MaxInt64+1).Known())
}
