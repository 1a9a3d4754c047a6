// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestQuantities(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text      string
		dimension Dimension
		unitless  string
		want      float64
	}{
		{`21`, Watts, "W", 21},
		{`"21"`, Watts, "W", 21},
		{`"21 W"`, Watts, "W", 21},
		{`"412.5W"`, Watts, "W", 412.5},
		{`{"value": 21, "unit": "W"}`, Watts, "W", 21},
		{`{"value": "21", "unit": "W"}`, Watts, "W", 21},
		{`{"value": 21}`, Watts, "W", 21},
		{`{"value": 21, "unit": null}`, Watts, "W", 21},
		{`{"value": 21, "unit": ""}`, Watts, "W", 21},
		{`{"value": 806, "unit": "mW"}`, Watts, "W", 0.806},
		{`{"value": 87, "unit": "%"}`, Ratio, "%", 0.87},
		{`100`, Ratio, "%", 1},
		{`{"value": 2104, "unit": "MHz"}`, Hertz, "MHz", 2104e6},
		{`{"value": 2.1, "unit": "GHz"}`, Hertz, "MHz", 2.1e9},
		{`"(not a number)"`, Hertz, "MHz", -1},
		{`{"value": 196592, "unit": "MB"}`, Bytes, "MB", 196592 << 20},
		{`{"value": 3, "unit": "KB"}`, Bytes, "B", 3 << 10},
		{`{"value": 3, "unit": "GiB"}`, Bytes, "B", 3 << 30},
		{`4096`, Bytes, "B", 4096},
		{`{"value": 8123.25, "unit": "J"}`, Joules, "J", 8123.25},
		{`"78098902297472.05"`, Joules, "uJ", 78098902.29747205},
		{`{"value": 32, "unit": "GT/s"}`, Transfers, "GT/s", 32e9},
		{`{"value": 16000, "unit": "MT/s"}`, Transfers, "GT/s", 16e9},
		{`{"value": 71, "unit": "C"}`, Celsius, "C", 71},
		{`{"value": -5, "unit": "C"}`, Celsius, "C", -5},
		{`7`, Count, "", 7},
		{`{"value": 4004, "unit": ""}`, Count, "", 4004},

		{`"N/A"`, Watts, "W", -1},
		{`null`, Watts, "W", -1},
		{`{"value": "N/A", "unit": "W"}`, Watts, "W", -1},
		{`{"value": null, "unit": "W"}`, Watts, "W", -1},
		{`{"value": {"value": 1}, "unit": "W"}`, Watts, "W", -1},
		{`{"unit": "W"}`, Watts, "W", -1},
		{`[21]`, Watts, "W", -1},
		{`true`, Watts, "W", -1},
		{`""`, Watts, "W", -1},
		{`"UNKNOWN"`, Count, "", -1},
		{`"0x10"`, Count, "", -1},
		{`{"value": 21, "unit": "%"}`, Watts, "W", -1},           // another quantity
		{`{"value": 21, "unit": "furlong"}`, Watts, "W", -1},     // no known unit
		{`21`, Bytes, "", -1},                                    // a unit is needed and none is there
		{`101`, Ratio, "%", -1},                                  // more than all
		{`-1`, Ratio, "%", -1},                                   // rocm-smi's failure
		{`65535`, Ratio, "%", -1},                                // 16 bits set
		{`65535`, Watts, "W", -1},                                // 16 bits set
		{`4294967295`, Watts, "W", -1},                           // 32 bits set
		{`65535`, Hertz, "MHz", -1},                              // 16 bits set
		{`65535`, Celsius, "C", -1},                              // 16 bits set
		{`511`, Celsius, "C", -1},                                // 9 bits set
		{`255.0`, Celsius, "C", -1},                              // 8 bits set
		{`-1`, Celsius, "C", -1},                                 // not read
		{`"-1.0"`, Celsius, "C", -1},                             // not read
		{`18446744073709551615`, Count, "", -1},                  // 64 bits set
		{`4294967295`, Count, "", -1},                            // 32 bits set
		{`{"value": 4294967295, "unit": "MB"}`, Bytes, "MB", -1}, // 32 bits set
		{`18446744073709551615`, Bytes, "B", -1},                 // 64 bits set
		{`282235185128752.99`, Joules, "J", -1},                  // 64 bits set, as energy
		{`1e400`, Count, "", -1},
	} {
		got, ok := Quantity(smitest.Decoded(t, tt.text), tt.dimension, tt.unitless).Get()
		if tt.want == -1 {
			assert.False(t, ok, "%s is read as %v", tt.text, got)
			continue
		}
		assert.True(t, ok, tt.text)
		assert.InDelta(t, tt.want, got, 1e-9*max(1, tt.want), tt.text)
	}
	_, _, ok := NumberOf(json.Number("x"))
	assert.False(t, ok)
}

// Each unit that the tools print, with 4 of it in SI.
func TestUnits(t *testing.T) {
	t.Parallel()
	want := map[Dimension]map[string]float64{
		Ratio:   {"%": 0.04},
		Watts:   {"W": 4, "mW": 0.004, "uW": 4e-6, "kW": 4000},
		Celsius: {"C": 4, "°C": 4, "mC": 0.004},
		Hertz: {
			"Hz": 4, "kHz": 4000, "KHz": 4000, "MHz": 4e6, "Mhz": 4e6, "MHZ": 4e6, "GHz": 4e9, "Ghz": 4e9,
		},
		Bytes: {
			"B": 4, "bytes": 4, "KB": 4096, "kB": 4096, "KiB": 4096, "MB": 4194304, "MiB": 4194304,
			"GB": 4294967296, "GiB": 4294967296, "TB": 4398046511104, "TiB": 4398046511104,
		},
		Joules:      {"J": 4, "mJ": 0.004, "uJ": 4e-6, "kJ": 4000},
		Transfers:   {"GT/s": 4e9, "MT/s": 4e6},
		Volts:       {"V": 4, "mV": 0.004},
		Revolutions: {"RPM": 4, "rpm": 4},
		Seconds:     {"s": 4, "ms": 0.004, "us": 4e-6, "ns": 4e-9},
		Bits:        {"Gb/s": 4e9, "Mb/s": 4e6},
	}
	known := 0
	for d, names := range want {
		known += len(names)
		for name, si := range names {
			v, ok := Quantity("4 "+name, d, "").Get()
			assert.True(t, ok, name)
			assert.InEpsilon(t, si, v, 1e-12, name)
			for other := range want {
				if other != d {
					assert.False(t, Quantity("4 "+name, other, "").Known(), "%s as another quantity", name)
				}
			}
		}
	}
	assert.Len(t, units, known)
}

func TestWholeTotalMeanHigher(t *testing.T) {
	t.Parallel()
	none := gpu.Opt[float64]{}
	assert.Equal(t, gpu.Some[int64](3), Whole(gpu.Some(2.6)))
	assert.False(t, Whole(none).Known())
	assert.Equal(t, gpu.Total[int64](3), Total(gpu.Some(2.6)))
	assert.False(t, Total(none).Known())
	assert.Equal(t, gpu.Some(0.2), Mean([]gpu.Opt[float64]{gpu.Some(0.1), none, gpu.Some(0.3)}))
	assert.False(t, Mean([]gpu.Opt[float64]{none}).Known())
	assert.Equal(t, gpu.Some(2.0), Higher(gpu.Some(1.0), gpu.Some(2.0)))
	assert.Equal(t, gpu.Some(2.0), Higher(gpu.Some(2.0), gpu.Some(1.0)))
	assert.Equal(t, gpu.Some(1.0), Higher(none, gpu.Some(1.0)))
	assert.Equal(t, gpu.Some(1.0), Higher(gpu.Some(1.0), none))
	assert.Equal(t, gpu.Some(300.0), PowerCap("300 W"))
	assert.False(t, PowerCap("0").Known(), "the second die of a package")
}
