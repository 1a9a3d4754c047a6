// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNumbers(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "12\n": 12, "18446744073709551615": math.MaxUint64} {
		v, ok := ParseUint(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, v)
	}
	for _, text := range []string{"", "\n", "x", "1x", "-1", "0x10", "1 2", "18446744073709551616", "99999999999999999999"} {
		_, ok := ParseUint(text)
		assert.False(t, ok, text)
	}
	v, ok := ParseInt("-273150\n")
	assert.True(t, ok)
	assert.Equal(t, int64(-273150), v)
	_, ok = ParseInt("9223372036854775808")
	assert.False(t, ok)
	for text, want := range map[string]uint64{"0x1002\n": 0x1002, "A1b2": 0xa1b2, "0Xff": 0xff, "ffffffffffffffff": math.MaxUint64} {
		v, ok := ParseHex(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, v)
	}
	for _, text := range []string{"", "0x", "g", "11111111111111111", "1 2"} {
		_, ok := ParseHex(text)
		assert.False(t, ok, text)
	}
}

func TestLabel(t *testing.T) {
	assert.Equal(t, "AMD Instinct", Label(" AMD Instinct\n"))
	for _, text := range []string{"", "N/A\n", "unknown", "None", "a\x01b", "\xff\xfe"} {
		assert.Empty(t, Label(text), text)
	}
}
