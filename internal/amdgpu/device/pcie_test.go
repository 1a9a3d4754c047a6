// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseLinkSpeed(t *testing.T) {
	for text, want := range map[string]int64{
		"2.5 GT/s PCIe": 1, "5.0 GT/s PCIe": 2, "5 GT/s": 2, "8.0 GT/s PCIe\n": 3, "16.0 GT/s PCIe": 4, "32.0 GT/s PCIe": 5,
		"64.0 GT/s PCIe": 6,
	} {
		assert.Equal(t, gpu.Some(want), parseLinkSpeed(text), text)
	}
	for _, text := range []string{"Unknown", "", "2.5", "16.0 Gb/s", "7.0 GT/s", "16.05 GT/s", "1.60 GT/s", ". GT/s", "999999999999 GT/s"} {
		assert.False(t, parseLinkSpeed(text).Known(), text)
	}
}
