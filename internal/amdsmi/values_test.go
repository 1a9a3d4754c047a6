// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// decoded is a value as the parser of amd-smi has it.
func decoded(t *testing.T, text string) any {
	t.Helper()
	r, err := parseAMD([]byte(`[{"v": ` + text + `}]`))
	require.NoError(t, err)
	require.Len(t, r, 1)
	return r[0]["v"]
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text      string
		dimension dimension
		unitless  string
		want      float64
	}{
		{`21`, watts, "W", 21},
		{`"21"`, watts, "W", 21},
		{`"21 W"`, watts, "W", 21},
		{`"412.5W"`, watts, "W", 412.5},
		{`{"value": 21, "unit": "W"}`, watts, "W", 21},
		{`{"value": "21", "unit": "W"}`, watts, "W", 21},
		{`{"value": 21}`, watts, "W", 21},
		{`{"value": 21, "unit": null}`, watts, "W", 21},
		{`{"value": 21, "unit": ""}`, watts, "W", 21},
		{`{"value": 806, "unit": "mW"}`, watts, "W", 0.806},
		{`{"value": 87, "unit": "%"}`, ratio, "%", 0.87},
		{`100`, ratio, "%", 1},
		{`{"value": 2104, "unit": "MHz"}`, hertz, "MHz", 2104e6},
		{`{"value": 2.1, "unit": "GHz"}`, hertz, "MHz", 2.1e9},
		{`"(not a number)"`, hertz, "MHz", -1},
		{`{"value": 196592, "unit": "MB"}`, octets, "MB", 196592 << 20},
		{`{"value": 3, "unit": "KB"}`, octets, "B", 3 << 10},
		{`{"value": 3, "unit": "GiB"}`, octets, "B", 3 << 30},
		{`4096`, octets, "B", 4096},
		{`{"value": 8123.25, "unit": "J"}`, joules, "J", 8123.25},
		{`"78098902297472.05"`, joules, "uJ", 78098902.29747205},
		{`{"value": 32, "unit": "GT/s"}`, transfers, "GT/s", 32e9},
		{`{"value": 16000, "unit": "MT/s"}`, transfers, "GT/s", 16e9},
		{`{"value": 71, "unit": "C"}`, celsius, "C", 71},
		{`{"value": -5, "unit": "C"}`, celsius, "C", -5},
		{`7`, count, "", 7},
		{`{"value": 4004, "unit": ""}`, count, "", 4004},

		{`"N/A"`, watts, "W", -1},
		{`null`, watts, "W", -1},
		{`{"value": "N/A", "unit": "W"}`, watts, "W", -1},
		{`{"value": null, "unit": "W"}`, watts, "W", -1},
		{`{"value": {"value": 1}, "unit": "W"}`, watts, "W", -1},
		{`{"unit": "W"}`, watts, "W", -1},
		{`[21]`, watts, "W", -1},
		{`true`, watts, "W", -1},
		{`""`, watts, "W", -1},
		{`"UNKNOWN"`, count, "", -1},
		{`"0x10"`, count, "", -1},
		{`{"value": 21, "unit": "%"}`, watts, "W", -1},            // another quantity
		{`{"value": 21, "unit": "furlong"}`, watts, "W", -1},      // no known unit
		{`21`, octets, "", -1},                                    // a unit is needed and none is there
		{`101`, ratio, "%", -1},                                   // more than all
		{`-1`, ratio, "%", -1},                                    // rocm-smi's failure
		{`65535`, ratio, "%", -1},                                 // 16 bits set
		{`65535`, watts, "W", -1},                                 // 16 bits set
		{`4294967295`, watts, "W", -1},                            // 32 bits set
		{`65535`, hertz, "MHz", -1},                               // 16 bits set
		{`65535`, celsius, "C", -1},                               // 16 bits set
		{`511`, celsius, "C", -1},                                 // 9 bits set
		{`255.0`, celsius, "C", -1},                               // 8 bits set
		{`18446744073709551615`, count, "", -1},                   // 64 bits set
		{`4294967295`, count, "", -1},                             // 32 bits set
		{`{"value": 4294967295, "unit": "MB"}`, octets, "MB", -1}, // 32 bits set
		{`18446744073709551615`, octets, "B", -1},                 // 64 bits set
		{`282235185128752.99`, joules, "J", -1},                   // 64 bits set, as energy
		{`1e400`, count, "", -1},
	} {
		got, ok := quantity(decoded(t, tt.text), tt.dimension, tt.unitless).Get()
		if tt.want == -1 {
			assert.False(t, ok, "%s is read as %v", tt.text, got)
			continue
		}
		assert.True(t, ok, tt.text)
		assert.InDelta(t, tt.want, got, 1e-9*max(1, tt.want), tt.text)
	}
	_, _, ok := numberOf(json.Number("x"))
	assert.False(t, ok)
}

func TestLeadingNumber(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		value float64
		rest  string
	}{
		"1500Mhz": {1500, "Mhz"}, "16.0GT/s": {16, "GT/s"}, "-5 C": {-5, "C"}, "2.5e3 J": {2500, "J"}, "1e-3": {0.001, ""}, "3 EB": {3, "EB"}, "12E": {12, "E"},
	} {
		v, rest, ok := leadingNumber(in)
		assert.True(t, ok, in)
		assert.InDelta(t, want.value, v, 1e-12, in)
		assert.Equal(t, want.rest, rest, in)
	}
	for _, in := range []string{"", "-", "+", ".", "x1", "1.2.3", "--1"} {
		_, _, ok := leadingNumber(in)
		assert.False(t, ok, in)
	}
}

// Each unit that the tools print, as the number of SI units that 4 of it are.
func TestUnits(t *testing.T) {
	t.Parallel()
	want := map[dimension]map[string]float64{
		ratio:   {"%": 0.04},
		watts:   {"W": 4, "mW": 0.004, "uW": 4e-6, "kW": 4000},
		celsius: {"C": 4, "°C": 4, "mC": 0.004},
		hertz: {
			"Hz": 4, "kHz": 4000, "KHz": 4000, "MHz": 4e6, "Mhz": 4e6, "MHZ": 4e6, "GHz": 4e9, "Ghz": 4e9,
		},
		octets: {
			"B": 4, "bytes": 4, "KB": 4096, "kB": 4096, "KiB": 4096, "MB": 4194304, "MiB": 4194304,
			"GB": 4294967296, "GiB": 4294967296, "TB": 4398046511104, "TiB": 4398046511104,
		},
		joules:    {"J": 4, "mJ": 0.004, "uJ": 4e-6, "kJ": 4000},
		transfers: {"GT/s": 4e9, "MT/s": 4e6},
	}
	known := 0
	for d, names := range want {
		known += len(names)
		for name, si := range names {
			v, ok := quantity("4 "+name, d, "").Get()
			assert.True(t, ok, name)
			assert.InEpsilon(t, si, v, 1e-12, name)
			for other := range want {
				if other != d {
					assert.False(t, quantity("4 "+name, other, "").Known(), "%s as another quantity", name)
				}
			}
		}
	}
	assert.Len(t, units, known)
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	for speed, want := range map[float64]int64{2.5e9: 1, 5e9: 2, 8e9: 3, 16e9: 4, 32e9: 5, 64e9: 6} {
		requireValue(t, want, generation(gpu.Some(speed)), "generation")
	}
	assert.False(t, generation(gpu.Some(0.0)).Known())
	assert.False(t, generation(gpu.Some(12e9)).Known())
	assert.False(t, generation(gpu.Opt[float64]{}).Known())
	requireNear(t, 16e9, pcieSpeed(json.Number("16000")), "MT/s without saying so")
	requireNear(t, 16e9, pcieSpeed(json.Number("16")), "GT/s without saying so")
	for _, v := range []any{json.Number("0"), json.Number("65535"), "N/A", nil} {
		assert.False(t, linkWidth(v).Known(), "%v", v)
	}
	for _, v := range []any{"-1", "4294967295", "65535", "N/A", nil} {
		assert.False(t, numaNode(v).Known(), "%v", v)
	}
}

func TestActive(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gpu.Opt[bool]{
		`"ACTIVE"`: gpu.Some(true), `"NOT ACTIVE"`: gpu.Some(false), `true`: gpu.Some(true), `"False"`: gpu.Some(false),
		`"N/A"`: {}, `null`: {}, `3`: {}, `{}`: {}, `["N/A"]`: {},
		`["NOT ACTIVE", "ACTIVE", "N/A"]`:                              gpu.Some(true),
		`{"xcp_0": ["NOT ACTIVE", "N/A"], "xcp_1": ["NOT ACTIVE"]}`:    gpu.Some(false),
		`{"xcp_0": ["NOT ACTIVE", "N/A"], "xcp_1": ["N/A", "ACTIVE"]}`: gpu.Some(true),
	} {
		assert.Equal(t, want, active(decoded(t, text)), text)
	}
}
