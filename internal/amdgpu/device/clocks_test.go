// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseClockLevels(t *testing.T) {
	for text, want := range map[string][2]gpu.Opt[float64]{
		"0: 132Mhz *\n1: 2100Mhz\n":           {gpu.Some(132e6), gpu.Some(2100e6)},
		"0: 300Mhz \n1: 1502Mhz *\n":          {gpu.Some(1502e6), gpu.Some(1502e6)},
		"S: 19Mhz *\n0: 615Mhz \n1: 800Mhz\n": {gpu.Some(19e6), gpu.Some(800e6)},
		"0: 800Mhz\n1: 1100Mhz\n":             {{}, gpu.Some(1100e6)},
		"garbage\n: \n0: fastMhz *\n1:5GHz":   {},
		"":                                    {},
		"0: 99999999999999Mhz *":              {},
	} {
		current, highest := parseClockLevels(text)
		assert.Equal(t, want, [2]gpu.Opt[float64]{current, highest}, text)
	}
}
