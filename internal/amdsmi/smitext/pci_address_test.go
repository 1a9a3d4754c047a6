// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"0000:C1:00.0":     "0000:c1:00.0",
		"0002:03:1f.7":     "0002:03:1f.7",
		"00000000:9b:00.0": "0000:9b:00.0",
		"10000:01:00.0":    "10000:01:00.0",
		"0000:05:00.A":     "0000:05:00.a",
	} {
		a, ok := ParseAddress(input)
		assert.True(t, ok, input)
		assert.Equal(t, want, a.String(), input)
	}
	for _, input := range []string{"", "N/A", "0000:00:00.0", "10d72010dc01:66:01.5", "0000:05:00", "05:00.0", "0000:105:00.0", "0000:05:20.0", "0000.05:00:0", "380000:00:0f.0", "7fe9e9f0:a8:1e.0", "0000:05:00.0:1", "zzzz:05:00.0"} {
		_, ok := ParseAddress(input)
		assert.False(t, ok, input)
	}
	assert.Empty(t, Address{}.String())
	_, ok := ParseAddress(" 0000:05:00.3\n")
	assert.True(t, ok)
	a, _ := ParseAddress("0000:05:00.3")
	assert.Equal(t, "0000:05:00.0", a.GPU().String())
}
