// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestReplaysOfOnes(t *testing.T) {
	for text, want := range smitest.ReplaysOfOnes() {
		var d gpu.Device
		readPCIe(record{"pcie": map[string]any{"replay_count": json.Number(text)}}, &d)
		assert.Equal(t, want, d.PCIe.Replays.Known(), text)
	}
}

func TestPCIeSpeed(t *testing.T) {
	t.Parallel()
	smitest.RequireNear(t, 16e9, pcieSpeed(json.Number("16000")), "MT/s without saying so")
	smitest.RequireNear(t, 16e9, pcieSpeed(json.Number("16")), "GT/s without saying so")
}
