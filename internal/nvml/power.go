// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

// readPower reads the power averaged over a second, where the board averages, else what NVML's older function gives.
func (b *board) readPower(d *gpu.Device) {
	v, ok := b.fields.get(fieldPowerAverage)
	d.Power.Draw = watts(v, ok)
	if b.src.want.Has(gpu.GroupPower) && b.fields.lacks(fieldPowerAverage) {
		if mw, ok := b.ask(fnPower); ok {
			d.Power.Draw = gpu.Some(float64(mw.number()) * perMilli)
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
	if b.fields.lacks(fieldPowerLimit) {
		if mw, ok := b.ask(fnPowerLimit); ok {
			limit = gpu.Some(float64(mw.number()) * perMilli)
		}
	}
	d.Power.Limit[gpu.LimitMax] = limit
}

func (b *board) readEnergy(d *gpu.Device) {
	v, ok := b.fields.get(fieldEnergy)
	d.Energy = amount(v, ok, perMilli)
	if b.fields.lacks(fieldEnergy) {
		if mj, ok := b.ask(fnEnergy); ok {
			d.Energy = gpu.Total(float64(mj.long()) * perMilli)
		}
	}
}
