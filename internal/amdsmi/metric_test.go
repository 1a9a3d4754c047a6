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
	for name, field := range map[string]func(*gpu.Memory) *gpu.Opt[int64]{
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
			*field(&want.Memory) = gpu.Some[int64](3 << 20)
			assert.Equal(t, want.Memory, d.Memory, name)
		}
	}
	d := gpu.Device{Memory: gpu.Memory{Limit: gpu.Some[int64](7)}}
	readMemory(record{}, &d)
	assert.Equal(t, gpu.Some[int64](7), d.Memory.Limit, "as static has it")
}

// TestNumbersWithoutValue: what the tool prints if the driver has no value is absent.
func TestNumbersWithoutValue(t *testing.T) {
	t.Parallel()
	for section, values := range map[string][]string{
		"temperature": {
			`{"mem": {"value": 0, "unit": "C"}}`, `{"mem": 255}`, `{"mem": -1}`, `{"edge": {"value": -1, "unit": "C"}}`, `{"hotspot": 255}`,
			`{"hbm_stacks": [0, 255, "N/A"]}`,
		},
		"mem_usage": {`{"total_vram": {"value": 0, "unit": "MB"}, "used_vram": {"value": 0, "unit": "MB"}}`},
		"pcie":      {`{"width": 65535}`},
	} {
		for _, value := range values {
			var d gpu.Device
			readMetric(record{section: smitest.Decoded(t, value)}, &d)
			assert.Equal(t, gpu.Device{}, d, value)
		}
	}
	var d gpu.Device
	readMetric(record{"clock": smitest.Decoded(t, `{"gfx_0": {"clk": {"value": 500, "unit": "MHz"}, "max_clk": {"value": 0, "unit": "MHz"}}}`)}, &d)
	assert.Equal(t, gpu.Clock{Speed: gpu.Some(500e6)}, d.Clocks[gpu.ClockGraphics])
	d = gpu.Device{Memory: gpu.Memory{Limit: gpu.Some[int64](7)}}
	readMetric(record{"mem_usage": smitest.Decoded(t, `{"total_vram": {"value": 0, "unit": "MB"}}`)}, &d)
	assert.Equal(t, gpu.Some[int64](7), d.Memory.Limit, "as static has it")
	assert.False(t, staticOf(record{"vram": smitest.Decoded(t, `{"size": {"value": 0, "unit": "MB"}}`)}).device.Memory.Limit.Known())
	assert.False(t, staticOf(record{"bus": smitest.Decoded(t, `{"max_pcie_width": 65535}`)}).device.PCIe.WidthLimit.Known())
}

// TestWithoutRAS: the totals of 0 of a GPU without RAS are not counts.
func TestWithoutRAS(t *testing.T) {
	t.Parallel()
	zeros := `"ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 0, "total_deferred_count": 0}`
	for name, tt := range map[string]struct {
		static, metric string
		errors         int
	}{
		"no RAS":              {`, "ras": "N/A"`, zeros, 0},
		"no RAS, in detail":   {`, "ras": {"eeprom_version": "N/A", "ecc_block_state": "N/A", "bad_page_threshold": "N/A"}`, zeros, 0},
		"RAS":                 {`, "ras": {"eeprom_version": "N/A", "ecc_block_state": {"UMC": "ENABLED"}}`, zeros, 3},
		"not printed":         {``, zeros, 3},
		"errors all the same": {`, "ras": "N/A"`, `"ecc": {"total_correctable_count": 1, "total_uncorrectable_count": 0}`, 2},
		"blocks":              {`, "ras": "N/A"`, `"ecc_blocks": {"UMC": {"correctable_count": 0}}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSource(&smitest.Tool{Answer: func(args string) (command.Result, error) {
				switch name, _, _ := strings.Cut(args, " "); name {
				case "list":
					return smitest.Prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "hip_uuid": "GPU-000000000000000c"}]`)
				case "static":
					return smitest.Prints(`[{"gpu": 0` + tt.static + `}]`)
				case "metric":
					return smitest.Prints(`[{"gpu": 0, ` + tt.metric + `}]`)
				}
				return smitest.Prints("[]")
			}})
			assert.Len(t, smitest.Read(t, s).Devices[0].Errors, tt.errors)
		})
	}
}

// TestErrorsInsteadOfReadings: a GPU is failed if metric prints errors and not one reading. An unsupported quantity is not an error.
func TestErrorsInsteadOfReadings(t *testing.T) {
	t.Parallel()
	metric := ""
	tool := twoGPUs()
	answer := tool.Answer
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "metric") {
			return smitest.Prints(`[{"gpu": 0, "usage": {"gfx_activity": 5}}, {"gpu": 1, ` + metric + `}]`)
		}
		return answer(args)
	}
	s := newTestSource(tool)
	for text, faults := range map[string][]gpu.FaultType{
		`"usage": {"gfx_activity": "ERR!"}, "fan": "N/A"`:                                       {gpu.FaultUnreachable},
		`"usage": "N/A", "power": {"socket_power": {"value": "AMDSMI_STATUS_IO", "unit": "W"}}`: {gpu.FaultUnreachable},
		`"usage": {"gfx_activity": 5}, "fan": {"usage": "ERR!"}`:                                {},
		`"usage": "N/A", "power": "N/A"`:                                                        {},
	} {
		metric = text
		node := smitest.Read(t, s)
		assert.Equal(t, faults, smitest.Faults(smitest.Device(t, node, "000000000000000d")), text)
		assert.Empty(t, smitest.Faults(smitest.Device(t, node, "000000000000000c")))
		smitest.RequireValue(t, int64(2-len(faults)), node.Presence[gpu.Visible], "visible")
		smitest.RequireValue(t, int64(len(faults)), node.Presence[gpu.Missing], "missing")
		assert.Nil(t, node.Failure, "the driver spoke of that GPU alone")
	}
}

// TestPowerOfAPU: amd-smi prints the power and the limits of the package, which on an APU has the CPU in it.
func TestPowerOfAPU(t *testing.T) {
	t.Parallel()
	board := gpu.Power{Draw: gpu.Some(9.0)}
	board.Limit[gpu.LimitEnforced] = gpu.Some(28.0)
	for technology, want := range map[string]gpu.Power{"LPDDR5": {Module: gpu.Some(9.0)}, "GDDR6": board} {
		tool := smitest.StaticTool(map[string]string{
			"version": `[{"amdsmi_library_version": "27.0.0"}]`,
			"list":    `[{"gpu": 0, "bdf": "0000:c4:00.0", "hip_uuid": "GPU-000000000000000c"}]`,
			"static":  `[{"gpu": 0, "vram": {"type": "` + technology + `"}, "limit": {"socket_power": {"value": 28, "unit": "W"}}}]`,
			"metric":  `[{"gpu": 0, "power": {"socket_power": {"value": 9, "unit": "W"}}}]`,
		})
		assert.Equal(t, want, smitest.Read(t, newTestSource(tool)).Devices[0].Power, technology)
	}
}

func TestEnergyWraps(t *testing.T) {
	t.Parallel()
	shown := 0.0
	s := newTestSource(&smitest.Tool{Answer: func(args string) (command.Result, error) {
		switch name, _, _ := strings.Cut(args, " "); name {
		case "list":
			return smitest.Prints(`[{"gpu": 0, "bdf": "0000:03:00.0", "hip_uuid": "GPU-000000000000000c"}]`)
		case "static":
			return smitest.Prints(`[{"gpu": 0, "asic": {"target_graphics_version": "gfx90a"}, "limit": {"socket_power": {"value": 300, "unit": "W"}}}]`)
		case "metric":
			return smitest.Prints(fmt.Sprintf(`[{"gpu": 0, "power": {"socket_power": {"value": 299, "unit": "W"}},`+
				`"energy": {"total_energy_consumption": {"value": %.3f, "unit": "J"}}}]`, shown))
		}
		return smitest.Prints("[]")
	}})
	smitest.EnergyWraps(t, s, func(joules float64) { shown = joules })
}
