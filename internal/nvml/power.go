// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

// readPower reads the power averaged over a second, where the board averages, else what NVML's older function gives.
func (b *board) readPower(d *gpu.Device) {
	v, ok := b.fields.get(fieldPowerAverage)
	d.Power.Draw = watts(v, ok)
	if b.src.want.Has(gpu.GroupPower) && b.fields.lacks(fieldPowerAverage) && b.can(fnPower) {
		if mw, ret := b.handle.GetPowerUsage(); b.ok(fnPower, code(ret)) {
			d.Power.Draw = gpu.Some(float64(mw) * perMilli)
		}
	}
	v, ok = b.fields.get(fieldPowerInstant)
	d.Power.Instant = watts(v, ok)
	v, ok = b.fields.get(fieldPowerModule)
	d.Power.Module = watts(v, ok)
}

// readPowerLimit reads the limit in force, whoever set it.
func (b *board) readPowerLimit(d *gpu.Device) {
	v, ok := b.fields.get(fieldPowerLimit)
	limit := watts(v, ok)
	if b.fields.lacks(fieldPowerLimit) && b.can(fnPowerLimit) {
		if mw, ret := b.handle.GetEnforcedPowerLimit(); b.ok(fnPowerLimit, code(ret)) {
			limit = gpu.Some(float64(mw) * perMilli)
		}
	}
	d.Power.Limit[gpu.LimitMax] = limit
}

func (b *board) readEnergy(d *gpu.Device) {
	v, ok := b.fields.get(fieldEnergy)
	d.Energy = amount(v, ok, perMilli)
	if b.fields.lacks(fieldEnergy) && b.can(fnEnergy) {
		if mj, ret := b.handle.GetTotalEnergyConsumption(); b.ok(fnEnergy, code(ret)) {
			d.Energy = gpu.Total(float64(mj) * perMilli)
		}
	}
}
