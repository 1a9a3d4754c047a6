// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const minPower = 0.3 // W, of a GPU that is awake

func readPower(r *reader, want gpu.Group, s sensors, table *gpumetrics.Table, apu bool, d *gpu.Device) {
	if apu {
		readAPUPower(r, want, s, table, d)
		return
	}
	if want.Has(gpu.GroupPowerLimit) {
		d.Power.Limit[gpu.LimitEnforced] = r.scaled("power limit", s.file("power1_cap"), micro, plausible.PowerLimit)
		d.Power.Limit[gpu.LimitMax] = r.scaled("highest power limit", s.file("power1_cap_max"), micro, plausible.PowerLimit)
		d.Power.Limit[gpu.LimitMin] = r.scaled("lowest power limit", s.file("power1_cap_min"), micro, plausible.PowerLimit)
		d.Power.Limit[gpu.LimitDefault] = r.scaled("default power limit", s.file("power1_cap_default"), micro, plausible.PowerLimit)
	}
	d.Power.Draw, d.Power.Instant = readDraw(r, want, s, table)
}

// readAPUPower reads the power of an APU. Its sensors measure the package with the CPU, and its limits describe the package.
// Only the table has the power of the GPU.
func readAPUPower(r *reader, want gpu.Group, s sensors, table *gpumetrics.Table, d *gpu.Device) {
	if !want.Has(gpu.GroupPower | gpu.GroupPowerDetail) {
		return
	}
	whole, _ := readDraw(r, gpu.GroupPower, s, table)
	if want.Has(gpu.GroupPowerDetail) {
		d.Power.Module = whole
	}
	if want.Has(gpu.GroupPower) {
		d.Power.Draw = table.GFXPower(whole)
	}
}

// readDraw returns the power that the GPU draws if the power is wanted.
func readDraw(r *reader, want gpu.Group, s sensors, table *gpumetrics.Table) (draw, instant gpu.Opt[float64]) {
	var average gpu.Opt[float64]
	if want.Has(gpu.GroupPower) {
		average = r.scaled("power", s.file("power1_average"), micro, plausible.Power).Or(table.AveragePower)
	}
	if want.Has(gpu.GroupPowerDetail) || want.Has(gpu.GroupPower) && !average.Known() {
		instant = r.scaled("power", s.file("power1_input"), micro, plausible.Power).Or(table.CurrentPower)
	}
	if want.Has(gpu.GroupPower) {
		draw = drawn(average.Or(instant), table.Energy)
	}
	if !want.Has(gpu.GroupPowerDetail) {
		return draw, gpu.Opt[float64]{}
	}
	return draw, drawn(instant, table.Energy)
}

// drawn drops an invalid power draw. The second die of an MI250 reports 0 W and counts no energy, because the first one reports for both. A
// draw of milliwatts is a value in watts that the driver interpreted as milliwatts.
func drawn(watts gpu.Opt[float64], energy gpu.Opt[uint64]) gpu.Opt[float64] {
	w, ok := watts.Get()
	units, counted := energy.Get()
	if ok && (w == 0 && (!counted || units == 0) || w > 0 && w < minPower) {
		return gpu.Opt[float64]{}
	}
	return watts
}
