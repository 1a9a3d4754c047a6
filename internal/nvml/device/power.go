// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	powerUsage = library.NewFunction("power", "nvmlDeviceGetPowerUsage")
	energy     = library.NewFunction("energy", "nvmlDeviceGetTotalEnergyConsumption")
)

// readPower reads the power in watts: the mean over a second where the board computes it, else what NVML's older function returns.
func readPower(dev *device, d *gpu.Device) {
	d.Power.Draw = watts(dev.fields.get(fieldPowerAverage))
	if dev.cfg.Want.Has(gpu.GroupPower) && dev.fields.lacks(fieldPowerAverage) {
		d.Power.Draw = watts(dev.number32(powerUsage, library.Device.GetPowerUsage))
	}
	d.Power.Instant = watts(dev.fields.get(fieldPowerInstant))
	d.Power.Module = watts(dev.fields.get(fieldPowerModule))
	d.Power.Memory = watts(dev.fields.get(fieldPowerMemory))
}

// powerLimits are the fields of limits, and the functions for boards that have no such field.
var powerLimits = [...]struct {
	limit    gpu.Limit
	field    field
	function *library.Function
	call     func(library.Device) (uint32, library.Return)
}{
	{
		gpu.LimitEnforced, fieldPowerLimit,
		library.NewFunction("power limit", "nvmlDeviceGetEnforcedPowerLimit"), library.Device.GetEnforcedPowerLimit,
	},
	{
		gpu.LimitMax, fieldPowerMaxLimit, library.NewFunction("highest power limit", "nvmlDeviceGetPowerManagementLimitConstraints"),
		func(h library.Device) (uint32, library.Return) {
			_, most, ret := h.GetPowerManagementLimitConstraints()
			return most, ret
		},
	},
	{
		gpu.LimitMin, fieldPowerMinLimit, library.NewFunction("lowest power limit", "nvmlDeviceGetPowerManagementLimitConstraints"),
		func(h library.Device) (uint32, library.Return) {
			least, _, ret := h.GetPowerManagementLimitConstraints()
			return least, ret
		},
	},
	{
		gpu.LimitDefault, fieldPowerDefaultLimit,
		library.NewFunction("default power limit", "nvmlDeviceGetPowerManagementDefaultLimit"), library.Device.GetPowerManagementDefaultLimit,
	},
}

// readPowerLimit reads the limit in force, whoever set it, the lowest and the highest that can be set, and that of a start, in watts.
func readPowerLimit(dev *device, d *gpu.Device) {
	for i := range powerLimits {
		l := &powerLimits[i]
		d.Power.Limit[l.limit] = watts(dev.fields.get(l.field))
		if dev.fields.lacks(l.field) {
			d.Power.Limit[l.limit] = watts(dev.number32(l.function, l.call))
		}
	}
}

// readEnergy reads the energy in joules since the driver was loaded.
func readEnergy(dev *device, d *gpu.Device) {
	v, ok := dev.fields.get(fieldEnergy)
	if dev.fields.lacks(fieldEnergy) {
		v, ok = dev.number64(energy, library.Device.GetTotalEnergyConsumption)
	}
	d.Energy = total(v, ok, perMilli)
}
