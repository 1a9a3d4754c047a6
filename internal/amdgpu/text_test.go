// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestNumbers(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "12\n": 12, "18446744073709551615": math.MaxUint64} {
		v, ok := parseUint([]byte(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, v)
	}
	for _, text := range []string{"", "\n", "x", "1x", "-1", "0x10", "1 2", "18446744073709551616", "99999999999999999999"} {
		_, ok := parseUint([]byte(text))
		assert.False(t, ok, text)
	}
	v, ok := parseInt([]byte("-273150\n"))
	assert.True(t, ok)
	assert.Equal(t, int64(-273150), v)
	_, ok = parseInt([]byte("9223372036854775808"))
	assert.False(t, ok)
	for text, want := range map[string]uint64{"0x1002\n": 0x1002, "A1b2": 0xa1b2, "0Xff": 0xff, "ffffffffffffffff": math.MaxUint64} {
		v, ok := parseHex([]byte(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, v)
	}
	for _, text := range []string{"", "0x", "g", "11111111111111111", "1 2"} {
		_, ok := parseHex([]byte(text))
		assert.False(t, ok, text)
	}
}

func TestLabel(t *testing.T) {
	assert.Equal(t, "AMD Instinct", label([]byte(" AMD Instinct\n")))
	for _, text := range []string{"", "N/A\n", "unknown", "None", "a\x01b", "\xff\xfe"} {
		assert.Empty(t, label([]byte(text)), text)
	}
}

func TestPCIeGeneration(t *testing.T) {
	for text, want := range map[string]int64{
		"2.5 GT/s PCIe": 1, "5.0 GT/s PCIe": 2, "5 GT/s": 2, "8.0 GT/s PCIe\n": 3, "16.0 GT/s PCIe": 4, "32.0 GT/s PCIe": 5,
		"64.0 GT/s PCIe": 6,
	} {
		assert.Equal(t, gpu.Some(want), pcieGeneration([]byte(text)), text)
	}
	for _, text := range []string{"Unknown", "", "2.5", "16.0 Gb/s", "7.0 GT/s", "999999999999 GT/s"} {
		assert.False(t, pcieGeneration([]byte(text)).Known(), text)
	}
	assert.False(t, lanes(0).Known())
	assert.False(t, lanes(255).Known())
	assert.Equal(t, gpu.Some[int64](8), lanes(8))
}

func TestDPMTable(t *testing.T) {
	for text, want := range map[string][2]gpu.Opt[float64]{
		"0: 132Mhz *\n1: 2100Mhz\n":           {gpu.Some(132e6), gpu.Some(2100e6)},
		"0: 300Mhz \n1: 1502Mhz *\n":          {gpu.Some(1502e6), gpu.Some(1502e6)},
		"S: 19Mhz *\n0: 615Mhz \n1: 800Mhz\n": {gpu.Some(19e6), gpu.Some(800e6)},
		"0: 800Mhz\n1: 1100Mhz\n":             {{}, gpu.Some(1100e6)},
		"garbage\n: \n0: fastMhz *\n1:5GHz":   {},
		"":                                    {},
		"0: 99999999999999Mhz *":              {},
	} {
		current, highest := dpmTable([]byte(text))
		assert.Equal(t, want, [2]gpu.Opt[float64]{current, highest}, text)
	}
}

func TestErrorCounts(t *testing.T) {
	got := appendCounts(nil, "umc", []byte("ue: 1\nce: 22\nde: 3\n"))
	assert.Equal(t, []gpu.ErrorCount{
		{Type: gpu.ErrorUncorrected, Block: "umc", Count: gpu.Total[int64](1)},
		{Type: gpu.ErrorCorrected, Block: "umc", Count: gpu.Total[int64](22)},
		{Type: gpu.ErrorDeferred, Block: "umc", Count: gpu.Total[int64](3)},
	}, got)
	assert.Empty(t, appendCounts(nil, "umc", []byte("Query currently inaccessible\n")))
	assert.Empty(t, appendCounts(nil, "umc", []byte("ue: -1\nce: 18446744073709551615\n")))
}

func TestGFXTarget(t *testing.T) {
	for version, want := range map[uint64]string{90402: "gfx942", 90010: "gfx90a", 90008: "gfx908", 110003: "gfx1103", 120001: "gfx1201", 0: ""} {
		assert.Equal(t, want, gfxTarget(version))
	}
}

func TestIsPCIAddress(t *testing.T) {
	for _, s := range []string{"0000:03:00.0", "10000:e1:00.0", "abcd:ff:1f.7"} {
		assert.True(t, isPCIAddress(s), s)
	}
	for _, s := range []string{"", "pci0000:00", "amdgpu_xcp_1", "0000-03:00.0", "0000:03:00:0", "0000:0g:00.0"} {
		assert.False(t, isPCIAddress(s), s)
	}
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"0: 132Mhz *\n1: 2100Mhz\n", "16.0 GT/s PCIe", "ue: 1\nce: 2\n", "-5", "0xff", "S: 1Mhz *"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		current, highest := dpmTable(text)
		for _, v := range []gpu.Opt[float64]{current, highest} {
			if hz, ok := v.Get(); ok && (hz < 0 || hz > fastest) {
				t.Error(hz)
			}
		}
		if g, ok := pcieGeneration(text).Get(); ok && (g < 1 || g > 6) {
			t.Error(g)
		}
		for _, c := range appendCounts(nil, "b", text) {
			if n, ok := c.Count.Get(); !ok || n < 0 {
				t.Error(n)
			}
		}
		_, _ = parseInt(text)
		_, _ = parseHex(text)
		_ = label(text)
		var n kfdNode
		n.parse(text)
		_ = property(text, "size_in_bytes")
	})
}
