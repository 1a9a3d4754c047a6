// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every unit that a version may print, with 5 of it in SI.
func TestUnits(t *testing.T) {
	for _, quantity := range []struct {
		units []unit
		want  map[string]float64
	}{
		{unitBytes, map[string]float64{
			"": 5242880, "MiB": 5242880, "MB": 5242880, "KiB": 5120, "GiB": 5368709120, "TiB": 5497558138880, "B": 5,
		}},
		{unitFraction, map[string]float64{"": 0.05, "%": 0.05}},
		{unitWatts, map[string]float64{"": 5, "W": 5, "mW": 0.005, "kW": 5000}},
		{unitCelsius, map[string]float64{"": 5, "C": 5, "°C": 5}},
		{unitHertz, map[string]float64{"": 5e6, "MHz": 5e6, "Hz": 5, "kHz": 5000, "KHz": 5000, "GHz": 5e9}},
		{unitSeconds, map[string]float64{"": 5e-6, "us": 5e-6, "µs": 5e-6, "ns": 5e-9, "ms": 0.005, "s": 5}},
		{unitLanes, map[string]float64{"": 5, "x": 5}},
		{unitCount, map[string]float64{"": 5}},
	} {
		for name, want := range quantity.want {
			v, ok := number([]byte("5 "+name), quantity.units)
			assert.True(t, ok, name)
			assert.InEpsilon(t, want, v, 1e-12, name)
		}
		for _, u := range quantity.units {
			assert.Contains(t, quantity.want, u.name)
		}
	}
}

func TestTrapUnitsInsideText(t *testing.T) {
	for _, tt := range []struct {
		printed string
		units   []unit
		want    float64
	}{
		{"27.22 W", unitWatts, 27.22},
		{"27.22", unitWatts, 27.22},
		{"35 %", unitFraction, 0.35},
		{"78", unitFraction, 0.78},
		{"16x", unitLanes, 16},
		{"16", unitLanes, 16},
		{"1980 MHz", unitHertz, 1.98e9},
		{"39595 us", unitSeconds, 0.039595},
		{"479 MiB", unitBytes, 479 << 20},
		{"479", unitBytes, 479 << 20},
		{"8192 MB", unitBytes, 8192 << 20},
		{"1 GiB", unitBytes, 1 << 30},
		{"-5 C", unitCelsius, -5},
		{" 63 C ", unitCelsius, 63},
		{"433,78 W", unitWatts, 433.78},
		{"0.00 W", unitWatts, 0},
	} {
		got, ok := number([]byte(tt.printed), tt.units)
		assert.True(t, ok, tt.printed)
		assert.InDelta(t, tt.want, got, 0, tt.printed)
	}
	for _, printed := range []string{"", "-", ".5", "5.", "1e3", "1,024 W", "5 V", "0x10", "--5", "+5", "5 W W", "NaN", "Inf", "1_000"} {
		_, ok := number([]byte(printed), unitWatts)
		assert.False(t, ok, printed)
	}
	_, ok := integer([]byte("18446744073709551615"), unitCount)
	assert.False(t, ok, "NVML's mark for no value is no value")
	_, ok = integer([]byte("-1 MiB"), unitBytes)
	assert.False(t, ok)
}

func TestNumbers(t *testing.T) {
	for printed, want := range map[string]float64{
		"0": 0, "12.5 W": 12.5, "12,5": 12.5, "12,25": 12.25, "-3": -3, "1.0625W": 1.0625, "007": 7,
	} {
		v, ok := number([]byte(printed), unitWatts)
		assert.True(t, ok, printed)
		assert.Equal(t, want, v, printed) //nolint:testifylint // all of them are exact
	}
	for _, printed := range []string{
		"", "-", ".5", "5.", "5,", "1,024", "1e3", "NaN", "+5", "5 w", "5 W W", "--5", "5:",
		strings.Repeat("9", 400), strings.Repeat("9", 400) + "." + strings.Repeat("0", 400),
	} {
		_, ok := number([]byte(printed), unitWatts)
		assert.False(t, ok, printed)
	}
}

func TestWholeNumbers(t *testing.T) {
	for printed, want := range map[string]int64{"0": 0, "0.3 MiB": 314573, "8 PiB": -1, "-1": -1, "9223372036854775807 B": -1} {
		v, ok := integer([]byte(printed), unitBytes)
		if assert.Equal(t, want >= 0, ok, printed) && ok {
			assert.Equal(t, want, v, printed)
		}
	}
	for printed, want := range map[string]int64{"1": 1, "4294967294": 4294967294, "4294967295": 0, "4294967296": 0, "0": 0, "-5": 0, "N/A": 0} {
		pid, ok := processID([]byte(printed))
		if assert.Equal(t, want > 0, ok, printed) && ok {
			assert.Equal(t, want, pid, printed)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, printed := range []string{"Yes", "Active", "Enabled", "True", "On", " Yes "} {
		v, ok := boolean([]byte(printed))
		assert.True(t, v && ok, printed)
	}
	for _, printed := range []string{"No", "Not Active", "Disabled", "False", "Off"} {
		v, ok := boolean([]byte(printed))
		assert.True(t, !v && ok, printed)
	}
	for _, printed := range []string{"", "1", "N/A", "Pending"} {
		_, ok := boolean([]byte(printed))
		assert.False(t, ok, printed)
	}
}
