// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Each group is asked for by its own options, besides those that tell which devices there are.
func TestOptionsOfEachGroup(t *testing.T) {
	t.Parallel()
	type options struct{ metric, rocm, text []string }
	always := []string{
		"--showuniqueid", "--showbus", "--showproductname", "--showserial", "--showvbios", "--showdriverversion",
		"--showtoponuma", "--showcomputepartition",
	}
	for group, want := range map[gpu.Group]options{
		gpu.GroupUtilization:      {metric: []string{"-u"}, rocm: []string{"--showuse", "--showmemuse"}},
		gpu.GroupMediaUtilization: {metric: []string{"-u"}},
		gpu.GroupMemory:           {metric: []string{"-m"}, rocm: []string{"--showmeminfo", "vram", "vis_vram", "gtt"}},
		gpu.GroupPower:            {metric: []string{"-p"}, rocm: []string{"--showpower"}},
		gpu.GroupPowerDetail:      {metric: []string{"-p"}, rocm: []string{"--showpower"}},
		gpu.GroupPowerLimit:       {rocm: []string{"--showmaxpower"}},
		gpu.GroupTemperature:      {metric: []string{"-t"}, rocm: []string{"--showtemp"}},
		gpu.GroupClocks:           {metric: []string{"-c"}, rocm: []string{"--showclocks"}},
		gpu.GroupClockLimits:      {metric: []string{"-c"}},
		gpu.GroupPCIeLink:         {rocm: []string{"--showclocks"}},
		gpu.GroupPCIeReplay:       {rocm: []string{"--showreplaycount"}},
		gpu.GroupFans:             {metric: []string{"-f"}, rocm: []string{"--showfan"}},
		gpu.GroupEnergy:           {metric: []string{"-E"}, rocm: []string{"--showmaxpower", "--showenergycounter"}},
		gpu.GroupECC:              {metric: []string{"-k", "-e"}, text: []string{"--showrasinfo", "all"}},
		gpu.GroupThrottle:         {metric: []string{"--throttle"}},
		gpu.GroupThrottleTime:     {metric: []string{"--throttle"}},
		gpu.GroupProcesses:        {rocm: []string{"--showpids"}, text: []string{"--showpidgpus", "--showpids"}},
	} {
		var metric []string
		if want.metric != nil {
			metric = append([]string{"metric"}, want.metric...)
		}
		assert.Equal(t, metric, amdArgs(stepMetric, group, nil), "amd-smi, group %b", group)
		assert.ElementsMatch(t, append(want.rocm, always...), arguments(rocmJSONFlags, group, nil), "rocm-smi, group %b", group)
		assert.Equal(t, want.text, arguments(rocmTextFlags, group, nil), "rocm-smi in text, group %b", group)
	}
}

// The quantities of memory under the names that the versions give them.
func TestAMDMemoryNames(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]func(*gpu.Memory) *gpu.Opt[int64]{
		"total_vram":         func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Limit },
		"vram":               func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Limit },
		"vram_total":         func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Limit },
		"fb_total":           func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Limit },
		"used_vram":          func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Usage },
		"vram_used":          func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Usage },
		"fb_used":            func(m *gpu.Memory) *gpu.Opt[int64] { return &m.Usage },
		"total_visible_vram": func(m *gpu.Memory) *gpu.Opt[int64] { return &m.VisibleLimit },
		"vis_vram":           func(m *gpu.Memory) *gpu.Opt[int64] { return &m.VisibleLimit },
		"used_visible_vram":  func(m *gpu.Memory) *gpu.Opt[int64] { return &m.VisibleUsage },
		"used_vis_vram":      func(m *gpu.Memory) *gpu.Opt[int64] { return &m.VisibleUsage },
		"total_gtt":          func(m *gpu.Memory) *gpu.Opt[int64] { return &m.SystemLimit },
		"gtt":                func(m *gpu.Memory) *gpu.Opt[int64] { return &m.SystemLimit },
		"used_gtt":           func(m *gpu.Memory) *gpu.Opt[int64] { return &m.SystemUsage },
	} {
		for _, section := range []string{"mem_usage", "fb_usage"} {
			var d, want gpu.Device
			amdMemory(record{section: map[string]any{name: json.Number("3")}}, &d)
			*to(&want.Memory) = gpu.Some[int64](3 << 20)
			assert.Equal(t, want.Memory, d.Memory, name)
		}
	}
	d := gpu.Device{Memory: gpu.Memory{Limit: gpu.Some[int64](7)}}
	amdMemory(record{}, &d)
	assert.Equal(t, gpu.Some[int64](7), d.Memory.Limit, "as it was told before")
}

// Each limiter's flag and count under its own name.
func TestAMDViolations(t *testing.T) {
	t.Parallel()
	for reason, name := range map[gpu.ThrottleReason]string{
		gpu.ThrottlePowerPPT: "ppt", gpu.ThrottleThermalGPU: "socket_thermal", gpu.ThrottleThermalMemory: "hbm_thermal",
		gpu.ThrottleThermalVR: "vr_thermal", gpu.ThrottleThermalExtern: "prochot",
	} {
		var d, want gpu.Device
		amdThrottle(record{name + "_violation_status": "ACTIVE"}, &d)
		want.Throttle[reason].Active = gpu.Some(true)
		assert.Equal(t, want.Throttle, d.Throttle, name)

		counted, ok := looksOf(record{"accumulation_counter": json.Number("9"), name + "_accumulated": json.Number("4")})
		assert.True(t, ok)
		for i, v := range violations {
			assert.Equal(t, v.reason == reason, counted.Limiters[i].Known(), name)
		}
	}
}
