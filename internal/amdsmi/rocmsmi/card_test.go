// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestUnifiedMemory(t *testing.T) {
	for name, tt := range smitest.UnifiedMemory() {
		t.Run(name, func(t *testing.T) {
			var d gpu.Device
			card := card{values: map[string]string{
				"vram total memory (b)": tt.Total, "vram total used memory (b)": tt.Used,
				"vis_vram total memory (b)": tt.Visible, "vis_vram total used memory (b)": tt.VisibleUsed,
			}}
			card.readings(&d)
			assert.Equal(t, tt.Want, d.Memory)
		})
	}
}

func TestMilliwatts(t *testing.T) {
	for watts, want := range smitest.Milliwatts() {
		var d gpu.Device
		card := card{values: map[string]string{"current socket graphics package power (w)": watts}}
		card.readings(&d)
		assert.Equal(t, want, d.Power.Draw, watts)
	}
}

func TestReplaysOfOnes(t *testing.T) {
	for text, want := range smitest.ReplaysOfOnes() {
		var d gpu.Device
		card := card{values: map[string]string{"pcie replay count": text}}
		card.readings(&d)
		assert.Len(t, d.Errors, want, text)
	}
}
