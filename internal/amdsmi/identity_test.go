// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whatever spelling a tool uses, the same GPU has the same hw.id: that of the driver's file unique_id.
func TestOneIDForEverySpelling(t *testing.T) {
	t.Parallel()
	const want = "02150e7d042a1124"
	assert.Equal(t, want, uniqueID("0x2150e7d042a1124"), "rocm-smi")
	assert.Equal(t, want, uniqueID("02150E7D042A1124"), "rocm-smi of ROCm 3")
	assert.Equal(t, want, asicSerial("0x02150E7D042A1124"), "amd-smi since 6.4.2")
	assert.Equal(t, want, asicSerial("0x2150E7D042A1124"), "amd-smi before")
	assert.Equal(t, want, asicSerial("0x150042092690346276"), "amd-smi without the DRM device")
	assert.Equal(t, want, uuidSerial("02ff6861-0000-1000-8015-0e7d042a1124"), "amd-smi list")
	assert.Equal(t, want, uuidSerial("02036861-0000-1000-8015-0e7d042a1124"), "a partition")
	assert.Equal(t, want, hipUUID("GPU-02150e7d042a1124"), "amd-smi list -e")
}

func TestNoID(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "N/A", "0x0", "0", "0x", "0xffffffffffffffff", "0x12345678901234567", "unknown", "0xzz", "-1"} {
		assert.Empty(t, uniqueID(s), s)
	}
	for _, s := range []string{"", "N/A", "0x0", "0x18446744073709551615", "0x99999999999999999999", "0xabcdef01234567890"} {
		assert.Empty(t, asicSerial(s), s)
	}
	for _, s := range []string{
		"", "N/A", "ffff0000-0000-1000-80ff-ffffffffffff", "00ff74a1-0000-1000-8000-000000000000",
		"0190a8f2-7c3b-8e11-9abc-def012345678", "02ff6861-0000-1000-8015-0e7d042a112", "02ff6861-0000-1000-8015x0e7d042a1124", "02ff6861-0000-1000-80zz-0e7d042a1124",
	} {
		assert.Empty(t, uuidSerial(s), s)
	}
	for _, s := range []string{"", "N/A", "02150e7d042a1124", "GPU-", "GPU-0000000000000000"} {
		assert.Empty(t, hipUUID(s), s)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0000:C1:00.0":     "0000:c1:00.0",
		"0002:03:1f.7":     "0002:03:1f.7",
		"00000000:9b:00.0": "0000:9b:00.0",
		"10000:01:00.0":    "10000:01:00.0",
		"0000:05:00.A":     "0000:05:00.a",
	} {
		a, ok := parseAddress(in)
		assert.True(t, ok, in)
		assert.Equal(t, want, a.String(), in)
	}
	for _, in := range []string{"", "N/A", "0000:00:00.0", "10d72010dc01:66:01.5", "0000:05:00", "05:00.0", "0000:105:00.0", "0000:05:20.0", "0000.05:00:0", "380000:00:0f.0", "7fe9e9f0:a8:1e.0", "0000:05:00.0:1", "zzzz:05:00.0"} {
		_, ok := parseAddress(in)
		assert.False(t, ok, in)
	}
	assert.Empty(t, address{}.String())
	_, ok := parseAddress(" 0000:05:00.3\n")
	assert.True(t, ok)
	a, _ := parseAddress("0000:05:00.3")
	assert.Equal(t, "0000:05:00.0", a.board().String())
}

func TestTexts(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "6.8.0-79-generic", driverVersion("Linuxversion6.8.0-79-generic(buildd@lcy02-amd64-049)(x86_64-linux-gnu-gcc-13"))
	assert.Equal(t, "6.14.0-37-generic", driverVersion("Linux version 6.14.0-37-generic (buildd@x) #1 SMP"))
	assert.Equal(t, "6.10.5", driverVersion("6.10.5"))
	assert.Equal(t, "Linuxfoo", driverVersion("Linuxfoo"))
	assert.Empty(t, driverVersion("N/A"))
	assert.Equal(t, "gfx90a", gfxTarget("gfx9010"))
	assert.Equal(t, "gfx90a", gfxTarget("gfx90a"))
	for in, want := range map[string]string{
		"gfx9008": "gfx908", "gfx11000": "gfx1100", "gfx11003": "gfx1103", "gfx12001": "gfx1201", "gfx1100": "gfx1100",
		"gfx1030": "gfx1030", "gfx1201": "gfx1201", "gfx942": "gfx942", "gfx908": "gfx908", "gfx900": "gfx900", "GFX90C": "gfx90c",
	} {
		assert.Equal(t, want, gfxTarget(in), in)
	}
	for _, s := range []string{"N/A", "942", "gfx", "gfxzzz", "gfx123456"} {
		assert.Empty(t, gfxTarget(s), s)
	}
	assert.Equal(t, "AMD Instinct MI210", model("0x1002", "N/A", " AMD Instinct MI210 "))
	assert.Empty(t, model("0x1002", "", "N/A"))
	assert.Equal(t, "PCB0", serial("PCB0"))
	for _, s := range []string{"N/A", "0", "0x0", "000000000000"} {
		assert.Empty(t, serial(s), s)
	}
	long := make([]byte, 3*maxText)
	for i := range long {
		long[i] = 'x'
	}
	assert.Len(t, label(string(long)), maxText)
	assert.Equal(t, "python3", executable("/opt/venv/bin/python3 (deleted)"))
	assert.Equal(t, "rvs", executable("rvs"))
	assert.Empty(t, executable("N/A"))
}
