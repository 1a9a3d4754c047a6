// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestGenerations(t *testing.T) {
	t.Parallel()
	for speed, want := range map[float64]int64{2.5e9: 1, 5e9: 2, 8e9: 3, 16e9: 4, 32e9: 5, 64e9: 6} {
		smitest.RequireValue(t, want, PCIeGeneration(gpu.Some(speed)), "generation")
	}
	assert.False(t, PCIeGeneration(gpu.Some(0.0)).Known())
	assert.False(t, PCIeGeneration(gpu.Some(12e9)).Known())
	assert.False(t, PCIeGeneration(gpu.Opt[float64]{}).Known())
	for _, v := range []any{json.Number("0"), json.Number("65535"), "N/A", nil} {
		assert.False(t, LinkWidth(v).Known(), "%v", v)
	}
	for _, v := range []any{"-1", "4294967295", "65535", "N/A", nil} {
		assert.False(t, NUMANode(v).Known(), "%v", v)
	}
}
