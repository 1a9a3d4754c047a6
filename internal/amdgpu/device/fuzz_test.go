// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// FuzzText parses what the driver might write into any of its text files.
func FuzzText(f *testing.F) {
	for _, text := range []string{"0: 132Mhz *\n1: 2100Mhz\n", "16.0 GT/s PCIe", "ue: 1\nce: 2\n", "-5", "0xff", "S: 1Mhz *"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		current, highest := parseClockLevels(text)
		for _, v := range []gpu.Opt[float64]{current, highest} {
			if hz, ok := v.Get(); ok && (hz < 0 || hz > plausible.Fastest) {
				t.Error(hz)
			}
		}
		if g, ok := parseLinkSpeed(text).Get(); ok && (g < 1 || g > 6) {
			t.Error(g)
		}
		for _, c := range parseErrorCounts("b", text) {
			if n, ok := c.Count.Get(); !ok || n < 0 {
				t.Error(n)
			}
		}
	})
}
