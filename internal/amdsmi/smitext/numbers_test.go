// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLeadingNumber(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]struct {
		value float64
		rest  string
	}{
		"1500Mhz": {1500, "Mhz"}, "16.0GT/s": {16, "GT/s"}, "-5 C": {-5, "C"}, "2.5e3 J": {2500, "J"}, "1e-3": {0.001, ""}, "3 EB": {3, "EB"}, "12E": {12, "E"},
	} {
		v, rest, ok := leadingNumber(input)
		assert.True(t, ok, input)
		assert.InDelta(t, want.value, v, 1e-12, input)
		assert.Equal(t, want.rest, rest, input)
	}
	for _, input := range []string{"", "-", "+", ".", "x1", "1.2.3", "--1"} {
		_, _, ok := leadingNumber(input)
		assert.False(t, ok, input)
	}
}
