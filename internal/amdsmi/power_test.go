// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestMilliwatts: the tools print what the driver makes of a firmware that tells watts where it expects milliwatts.
func TestMilliwatts(t *testing.T) {
	for watts, want := range map[string]gpu.Opt[float64]{"0.012": {}, "0.23": {}, "1.2": gpu.Some(1.2)} {
		var rocm gpu.Device
		card := rocmCard{values: map[string]string{"current socket graphics package power (w)": watts}}
		card.readings(&rocm)
		assert.Equal(t, want, rocm.Power.Draw, watts)

		var amd gpu.Device
		amdPower(record{"socket_power": map[string]any{"value": json.Number(watts), "unit": "W"}}, &amd)
		assert.Equal(t, want, amd.Power.Draw, watts)
	}
}
