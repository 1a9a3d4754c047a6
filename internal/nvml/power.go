// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

// readPower reads the power averaged over a second, where the board averages, else what NVML's older function gives.
func (b *board) readPower(d *gpu.Device) {
	d.Power.Draw = watts(b.fields.get(fieldPowerAverage))
	if b.src.want.Has(gpu.GroupPower) && b.fields.lacks(fieldPowerAverage) {
		d.Power.Draw = watts(b.number(fnPower))
	}
	d.Power.Instant = watts(b.fields.get(fieldPowerInstant))
	d.Power.Module = watts(b.fields.get(fieldPowerModule))
}

// readPowerLimit reads the limit in force, whoever set it.
func (b *board) readPowerLimit(d *gpu.Device) {
	limit := watts(b.fields.get(fieldPowerLimit))
	if b.fields.lacks(fieldPowerLimit) {
		limit = watts(b.number(fnPowerLimit))
	}
	d.Power.Limit[gpu.LimitMax] = limit
}

func (b *board) readEnergy(d *gpu.Device) {
	v, ok := b.fields.get(fieldEnergy)
	if b.fields.lacks(fieldEnergy) {
		v, ok = b.long(fnEnergy)
	}
	d.Energy = amount(v, ok, perMilli)
}
