// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	powerUsage    = library.NewFunction("power", "nvmlDeviceGetPowerUsage")
	powerLimit    = library.NewFunction("power limit", "nvmlDeviceGetEnforcedPowerLimit")
	powerMaxLimit = library.NewFunction("highest power limit", "nvmlDeviceGetPowerManagementLimitConstraints")
	energy        = library.NewFunction("energy", "nvmlDeviceGetTotalEnergyConsumption")
)

// readPower reads the power in watts: the mean over a second where the board computes it, else what NVML's older function returns.
func readPower(dev *device, d *gpu.Device) {
	d.Power.Draw = watts(dev.fields.get(fieldPowerAverage))
	if dev.cfg.Want.Has(gpu.GroupPower) && dev.fields.lacks(fieldPowerAverage) {
		d.Power.Draw = watts(dev.number32(powerUsage, library.Device.GetPowerUsage))
	}
	d.Power.Instant = watts(dev.fields.get(fieldPowerInstant))
	d.Power.Module = watts(dev.fields.get(fieldPowerModule))
}

// readPowerLimit reads the limit in force, whoever set it, and the highest that can be set, in watts.
func readPowerLimit(dev *device, d *gpu.Device) {
	limit := watts(dev.fields.get(fieldPowerLimit))
	if dev.fields.lacks(fieldPowerLimit) {
		limit = watts(dev.number32(powerLimit, library.Device.GetEnforcedPowerLimit))
	}
	d.Power.Limit[gpu.LimitEnforced] = limit

	highest := watts(dev.fields.get(fieldPowerMaxLimit))
	if dev.fields.lacks(fieldPowerMaxLimit) {
		highest = watts(dev.number32(powerMaxLimit, func(h library.Device) (uint32, library.Return) {
			_, most, ret := h.GetPowerManagementLimitConstraints()
			return most, ret
		}))
	}
	d.Power.Limit[gpu.LimitMax] = highest
}

// readEnergy reads the energy in joules since the driver was loaded.
func readEnergy(dev *device, d *gpu.Device) {
	v, ok := dev.fields.get(fieldEnergy)
	if dev.fields.lacks(fieldEnergy) {
		v, ok = dev.number64(energy, library.Device.GetTotalEnergyConsumption)
	}
	d.Energy = total(v, ok, perMilli)
}
