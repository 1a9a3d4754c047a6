// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestReplaysOfOnes: the tools print what the driver makes of two registers of 32 bits, all of whose bits are set where the GPU is
// off the bus.
func TestReplaysOfOnes(t *testing.T) {
	for text, want := range map[string]int{"8589934590": 0, "4294967295": 0, "7": 1, "0": 1} {
		var amd gpu.Device
		amdPCIe(record{"pcie": map[string]any{"replay_count": json.Number(text)}}, &amd)
		assert.Len(t, amd.Errors, want, text)

		var rocm gpu.Device
		card := rocmCard{values: map[string]string{"pcie replay count": text}}
		card.readings(&rocm)
		assert.Len(t, rocm.Errors, want, text)
	}
}
