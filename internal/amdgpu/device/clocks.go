// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func readClocks(r *reader, want gpu.Group, s sensors, table *gpumetrics.Table, d *gpu.Device) {
	for _, c := range [...]struct {
		domain gpu.ClockDomain
		levels string
		table  gpu.Opt[float64]
	}{
		{gpu.ClockGraphics, "pp_dpm_sclk", table.GFXClock},
		{gpu.ClockMemory, "pp_dpm_mclk", table.MemoryClock},
		{gpu.ClockVideo, "pp_dpm_vclk", table.VideoClock},
	} {
		clock := &d.Clocks[c.domain]
		if want.Has(gpu.GroupClocks) {
			clock.Speed = r.scaled("clock", fileOf(s.frequency[c.domain], "_input"), 1, plausible.Clock).Or(c.table)
		}
		if !want.Has(gpu.GroupClockLimits) && (!want.Has(gpu.GroupClocks) || clock.Speed.Known()) {
			continue
		}
		if text, ok := r.file("clock", c.levels); ok {
			current, highest := parseClockLevels(text)
			if want.Has(gpu.GroupClocks) {
				clock.Speed = clock.Speed.Or(current)
			}
			if want.Has(gpu.GroupClockLimits) {
				clock.Limit = highest
			}
		}
	}
}

// parseClockLevels parses the levels of a clock: "0: 132Mhz *\n1: 2100Mhz\n", the current level with a star, and one of deep sleep
// as "S: 19Mhz *". It returns the current and the highest speed in hertz.
func parseClockLevels(text string) (current, highest gpu.Opt[float64]) {
	for line := range strings.Lines(text) {
		level, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if level == "" || len(words) == 0 {
			continue
		}
		number, isMHz := strings.CutSuffix(strings.ToLower(words[0]), "mhz")
		mhz, ok := sysfs.ParseUint(number)
		speed := plausible.Clock(float64(mhz) * 1e6)
		if !isMHz || !ok || !speed.Known() {
			continue
		}
		if len(words) > 1 && words[1] == "*" {
			current = speed
		}
		if level[0] != 'S' && mhz > 0 {
			highest = higher(highest, speed)
		}
	}
	return current, highest
}

func higher(a, b gpu.Opt[float64]) gpu.Opt[float64] {
	x, ok := a.Get()
	if y, _ := b.Get(); !ok || y > x {
		return b
	}
	return a
}
