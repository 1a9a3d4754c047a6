// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var powerRows = []quantity{
	// Ampere and later, except GA100, average the field over a second.
	{
		group: gpu.GroupPower, name: "power",
		fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, 0}},
		symbol: "nvmlDeviceGetPowerUsage", call: number(library.Device.GetPowerUsage),
		set: unitSetter(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Draw }),
	},
	{
		group: gpu.GroupPowerDetail, name: "instantaneous power",
		fields: []fieldID{{gonvml.FI_DEV_POWER_INSTANT, 0}},
		set:    unitSetter(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Instant }),
	},
	// The module is the GPU and the CPU with its memory.
	{
		group: gpu.GroupPowerDetail, name: "module power",
		fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, gonvml.POWER_SCOPE_MODULE}, {gonvml.FI_DEV_POWER_INSTANT, gonvml.POWER_SCOPE_MODULE}},
		set:    unitSetter(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Module }),
	},
	{
		group: gpu.GroupPowerDetail, name: "memory power",
		fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, gonvml.POWER_SCOPE_MEMORY}, {gonvml.FI_DEV_POWER_INSTANT, gonvml.POWER_SCOPE_MEMORY}},
		set:    unitSetter(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Memory }),
	},
	// The limit in force, whether a user or the driver set it.
	{
		group: gpu.GroupPowerLimit, name: "power limit",
		fields: []fieldID{{gonvml.FI_DEV_POWER_CURRENT_LIMIT, 0}},
		symbol: "nvmlDeviceGetEnforcedPowerLimit", call: number(library.Device.GetEnforcedPowerLimit),
		set: unitSetter(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitEnforced] }),
	},
	{
		group: gpu.GroupPowerLimit, name: "highest power limit",
		fields: []fieldID{{gonvml.FI_DEV_POWER_MAX_LIMIT, 0}},
		symbol: "nvmlDeviceGetPowerManagementLimitConstraints", call: number(maxPowerLimit),
		set: unitSetter(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitMax] }),
	},
	{
		group: gpu.GroupPowerLimit, name: "lowest power limit",
		fields: []fieldID{{gonvml.FI_DEV_POWER_MIN_LIMIT, 0}},
		symbol: "nvmlDeviceGetPowerManagementLimitConstraints", call: number(minPowerLimit),
		set: unitSetter(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitMin] }),
	},
	{
		group: gpu.GroupPowerLimit, name: "default power limit",
		fields: []fieldID{{gonvml.FI_DEV_POWER_DEFAULT_LIMIT, 0}},
		symbol: "nvmlDeviceGetPowerManagementDefaultLimit", call: number(library.Device.GetPowerManagementDefaultLimit),
		set: unitSetter(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitDefault] }),
	},
	// Since the driver was loaded.
	{
		group: gpu.GroupEnergy, name: "energy",
		fields: []fieldID{{gonvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION, 0}, {gonvml.FI_DEV_ENERGY, 0}},
		symbol: "nvmlDeviceGetTotalEnergyConsumption", call: number64(library.Device.GetTotalEnergyConsumption),
		set: unitSetter(joules, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Energy }),
	},
}

// maxPowerLimit returns the highest limit that can be set.
func maxPowerLimit(h library.Device) (uint32, library.Return) {
	_, highest, ret := h.GetPowerManagementLimitConstraints()
	return highest, ret
}

// minPowerLimit returns the lowest limit that can be set.
func minPowerLimit(h library.Device) (uint32, library.Return) {
	lowest, _, ret := h.GetPowerManagementLimitConstraints()
	return lowest, ret
}
