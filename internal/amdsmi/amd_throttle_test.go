// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestAMDThrottleTime(t *testing.T) {
	t.Parallel()
	tool := amdTool(t, "amd-smi-7.0-dpx")
	files := tool.answer
	counts := `"accumulation_counter": 1000, "ppt_accumulated": 10, "prochot_accumulated": 0, "hbm_thermal_accumulated": "N/A"`
	tool.answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric -u") {
			return prints(`[{"gpu": 0, "throttle": {` + counts + `}}]`)
		}
		return files(args)
	}
	s := testAMD(tool)
	seconds := func(reason gpu.ThrottleReason) (float64, bool) {
		return read(t, s).Devices[0].Throttle[reason].Time.Get()
	}
	_, ok := seconds(gpu.ThrottlePowerPPT)
	assert.False(t, ok, "one count tells nothing")

	counts = `"accumulation_counter": 2000, "ppt_accumulated": 260, "prochot_accumulated": 0, "hbm_thermal_accumulated": "N/A"`
	node := read(t, s) // 30 s later, a quarter of the looks
	ppt := node.Devices[0].Throttle[gpu.ThrottlePowerPPT].Time
	got, ok := ppt.Get()
	require.True(t, ok)
	assert.InDelta(t, 7.5, got, 1e-9)
	assert.Equal(t, testTime.Add(30*time.Second), ppt.Since())
	got, ok = node.Devices[0].Throttle[gpu.ThrottleThermalExtern].Time.Get()
	assert.True(t, ok)
	assert.Zero(t, got)
	assert.False(t, node.Devices[0].Throttle[gpu.ThrottleThermalMemory].Time.Known())
	for _, d := range node.Devices[1:] {
		assert.False(t, d.Throttle[gpu.ThrottlePowerPPT].Time.Known(), "the package's")
	}

	got, ok = seconds(gpu.ThrottlePowerPPT)
	assert.True(t, ok)
	assert.InDelta(t, 7.5, got, 1e-9, "no look since")

	counts = `"accumulation_counter": 5, "ppt_accumulated": 1`
	_, ok = seconds(gpu.ThrottlePowerPPT)
	assert.False(t, ok, "the driver was loaded anew")
	counts = `"accumulation_counter": 15, "ppt_accumulated": 11`
	got, ok = seconds(gpu.ThrottlePowerPPT)
	assert.True(t, ok)
	assert.InDelta(t, 30, got, 1e-9)
	counts = `"accumulation_counter": 16, "ppt_accumulated": 99`
	_, ok = seconds(gpu.ThrottlePowerPPT)
	assert.False(t, ok, "more often at work than looked at")
}
