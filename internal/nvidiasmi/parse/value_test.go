// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Each unit that a version may print, as the number of SI units that 5 of it are.
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

func TestPCIAddress(t *testing.T) {
	for printed, want := range map[string]string{
		"00000000:1A:00.0": "0000:1a:00.0", "0000:1a:00.0": "0000:1a:00.0", "00010000:F9:1F.7": "10000:f9:1f.7", "0:09:aF.0": "0000:09:af.0",
		"": "", "1A:00.0": "", ":1A:00.0": "", "000000000:1A:00.0": "", "0000:1A:00:0": "", "0000:1A.00.0": "", "0000:1A:00.00": "",
		"0000:G0:00.0": "", "0000:0G:00.0": "", "0000:00:g0.0": "", "0000:00:00.g": "", "0000:/0:00.0": "", "0000:00::0.0": "", "0000:00:00.@": "",
		"0000:00:00.`": "", "x000:00:00.0": "",
	} {
		assert.Equal(t, want, PCIAddress(printed), printed)
	}
}

// A reason in the place of a text is no text, with brackets or without.
func TestWordsThatAreReasons(t *testing.T) {
	for printed, want := range map[string]string{
		"NVIDIA A100": "NVIDIA A100", " NVIDIA A100 ": "NVIDIA A100", "[N/A]": "", "[ Not Supported ]": "", "N/A": "", "[Foo]": "",
		"Unknown Error": "", "Insufficient Permissions": "", "ERR!": "", "GPU is lost": "", "GPU requires reset": "",
		"Corrupted infoROM": "", "Timeout": "", "Insufficient Size": "", "Interrupt Request Issue": "",
	} {
		g := oneRow(t, "index, uuid, name", "0, GPU-1, "+printed)
		assert.Equal(t, want, g.Device.Model, printed)
		assert.Equal(t, want, processName([]byte(printed)), printed)
	}
	assert.Equal(t, "[a", processName([]byte("[a")))
}

func TestPerformanceStates(t *testing.T) {
	for printed, want := range map[string]gpu.Opt[int64]{
		"P0": gpu.Some[int64](0), "P15": gpu.Some[int64](15), "8": {}, "P": {}, "Px": {}, "N/A": {},
	} {
		assert.Equal(t, want, oneRow(t, "index, uuid, pstate", "0, GPU-1, "+printed).Device.PerformanceState, printed)
	}
}

// A message is quoted at a length that a log can bear.
func TestQuotedIsShortened(t *testing.T) {
	long := strings.Repeat("x", 120)
	assert.Equal(t, long, quoted([]byte(" "+long+" ")))
	assert.Equal(t, long+"…", quoted([]byte(long+"x")))
	assert.Equal(t, long[1:]+"…", quoted([]byte(long[1:]+"é")), "not in the middle of a character")
	require.Less(t, len(quoted([]byte(long+long))), math.MaxUint8)
}
