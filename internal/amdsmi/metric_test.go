// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestUnifiedMemory(t *testing.T) {
	for name, tt := range smitest.UnifiedMemory() {
		t.Run(name, func(t *testing.T) {
			var d gpu.Device
			value := func(text string) any {
				if text == "N/A" {
					return text
				}
				return map[string]any{"value": json.Number(text), "unit": "B"}
			}
			readMemory(record{"mem_usage": map[string]any{
				"total_vram": value(tt.Total), "used_vram": value(tt.Used),
				"total_visible_vram": value(tt.Visible), "used_visible_vram": value(tt.VisibleUsed),
			}}, &d)
			assert.Equal(t, tt.Want, d.Memory)
		})
	}
}

func TestMilliwatts(t *testing.T) {
	for watts, want := range smitest.Milliwatts() {
		var d gpu.Device
		readPower(record{"socket_power": map[string]any{"value": json.Number(watts), "unit": "W"}}, &d)
		assert.Equal(t, want, d.Power.Draw, watts)
	}
}

// The quantities of memory under the names of all versions.
func TestMemoryNames(t *testing.T) {
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
			readMemory(record{section: map[string]any{name: json.Number("3")}}, &d)
			*to(&want.Memory) = gpu.Some[int64](3 << 20)
			assert.Equal(t, want.Memory, d.Memory, name)
		}
	}
	d := gpu.Device{Memory: gpu.Memory{Limit: gpu.Some[int64](7)}}
	readMemory(record{}, &d)
	assert.Equal(t, gpu.Some[int64](7), d.Memory.Limit, "as static has it")
}

func TestEnergyWraps(t *testing.T) {
	t.Parallel()
	shown := 0.0
	s := newTestSource(&smitest.Tool{Answer: func(args string) (command.Result, error) {
		switch name, _, _ := strings.Cut(args, " "); name {
		case "list":
			return smitest.Prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "hip_uuid": "GPU-000000000000000c"}]`)
		case "static":
			return smitest.Prints(`[{"gpu": 0, "limit": {"socket_power": {"value": 300, "unit": "W"}}}]`)
		case "metric":
			return smitest.Prints(fmt.Sprintf(`[{"gpu": 0, "power": {"socket_power": {"value": 299, "unit": "W"}},`+
				`"energy": {"total_energy_consumption": {"value": %.3f, "unit": "J"}}}]`, shown))
		}
		return smitest.Prints("[]")
	}})
	smitest.EnergyWraps(t, s, func(joules float64) { shown = joules })
}
