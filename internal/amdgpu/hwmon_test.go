// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// withSensors reads a Radeon with other files of its sensors. An empty file is removed.
func withSensors(t *testing.T, files map[string]string) *gpu.Device {
	t.Helper()
	m := amdgpusim.Radeon()
	tree, source, _ := simulate(t, m, gpu.GroupFans|gpu.GroupClocks)
	for name, text := range files {
		path := tree.Path(m.Cards[0].Sensors() + "/" + name)
		if text == "" {
			require.NoError(t, os.Remove(path))
		} else {
			require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
		}
	}
	node := read(t, source)
	require.Len(t, node.Devices, 1)
	return &node.Devices[0]
}

// TestFan: the maximum of the duty cycle is 255 unless a file has it. Without a duty cycle the ratio is the speed by its maximum.
func TestFan(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  gpu.Opt[float64]
	}{
		"duty cycle":             {map[string]string{"pwm1": "51"}, gpu.Some(0.2)},
		"duty cycle of 100":      {map[string]string{"pwm1": "51", "pwm1_max": "100"}, gpu.Some(0.51)},
		"duty cycle of unknown":  {map[string]string{"pwm1": "51", "pwm1_max": ""}, gpu.Some(0.2)},
		"duty cycle of nothing":  {map[string]string{"pwm1": "51", "pwm1_max": "0"}, gpu.Some(0.2)},
		"speed":                  {map[string]string{"pwm1": "", "fan1_input": "1500", "fan1_max": "3000"}, gpu.Some(0.5)},
		"speed of unknown":       {map[string]string{"pwm1": "", "fan1_max": ""}, gpu.Opt[float64]{}},
		"speed above the limit":  {map[string]string{"pwm1": "", "fan1_input": "3001", "fan1_max": "3000"}, gpu.Opt[float64]{}},
		"neither of them is one": {map[string]string{"pwm1": "", "fan1_input": ""}, gpu.Opt[float64]{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := withSensors(t, tt.files)
			if want, ok := tt.want.Get(); ok {
				assert.Equal(t, []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(want)}}, d.Fans)
			} else {
				assert.Empty(t, d.Fans)
			}
		})
	}
}

// TestClockOfTheSensors: the sensors' frequencies are preferred to the frequencies of the table.
func TestClockOfTheSensors(t *testing.T) {
	d := withSensors(t, map[string]string{"freq1_input": "1234000000", "freq2_input": "777000000"})
	assert.Equal(t, gpu.Some(1234e6), d.Clocks[gpu.ClockGraphics].Speed)
	assert.Equal(t, gpu.Some(777e6), d.Clocks[gpu.ClockMemory].Speed)
}
