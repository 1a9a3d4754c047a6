// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDeviceInfo(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "6.8.0-79-generic", DriverVersion("Linuxversion6.8.0-79-generic(buildd@lcy02-amd64-049)(x86_64-linux-gnu-gcc-13"))
	assert.Equal(t, "6.14.0-37-generic", DriverVersion("Linux version 6.14.0-37-generic (buildd@x) #1 SMP"))
	assert.Equal(t, "6.10.5", DriverVersion("6.10.5"))
	assert.Equal(t, "Linuxfoo", DriverVersion("Linuxfoo"))
	assert.Empty(t, DriverVersion("N/A"))
	assert.Equal(t, "gfx90a", GFXTarget("gfx9010"))
	assert.Equal(t, "gfx90a", GFXTarget("gfx90a"))
	for input, want := range map[string]string{
		"gfx9008": "gfx908", "gfx11000": "gfx1100", "gfx11003": "gfx1103", "gfx12001": "gfx1201", "gfx1100": "gfx1100",
		"gfx1030": "gfx1030", "gfx1201": "gfx1201", "gfx942": "gfx942", "gfx908": "gfx908", "gfx900": "gfx900", "GFX90C": "gfx90c",
	} {
		assert.Equal(t, want, GFXTarget(input), input)
	}
	for _, s := range []string{"N/A", "942", "gfx", "gfxzzz", "gfx123456"} {
		assert.Empty(t, GFXTarget(s), s)
	}
	assert.Equal(t, "AMD Instinct MI210", Model("0x1002", "N/A", " AMD Instinct MI210 "))
	assert.Empty(t, Model("0x1002", "", "N/A"))
	assert.Equal(t, "PCB0", Serial("PCB0"))
	for _, s := range []string{"N/A", "0", "0x0", "000000000000"} {
		assert.Empty(t, Serial(s), s)
	}
	long := make([]byte, 1000)
	for i := range long {
		long[i] = 'x'
	}
	assert.Len(t, Label(string(long)), 256)
}
