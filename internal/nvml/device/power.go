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
		group: gpu.GroupPower, what: "power",
		fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, 0}},
		symbol: "nvmlDeviceGetPowerUsage", call: number(library.Device.GetPowerUsage),
		set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Draw }),
	},
	{
		group: gpu.GroupPowerDetail, what: "instantaneous power",
		fields: []fieldID{{gonvml.FI_DEV_POWER_INSTANT, 0}},
		set:    to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Instant }),
	},
	// The module is the GPU and the CPU with its memory.
	{
		group: gpu.GroupPowerDetail, what: "module power",
		fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, gonvml.POWER_SCOPE_MODULE}, {gonvml.FI_DEV_POWER_INSTANT, gonvml.POWER_SCOPE_MODULE}},
		set:    to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Module }),
	},
	{
		group: gpu.GroupPowerDetail, what: "memory power",
		fields: []fieldID{{gonvml.FI_DEV_POWER_AVERAGE, gonvml.POWER_SCOPE_MEMORY}, {gonvml.FI_DEV_POWER_INSTANT, gonvml.POWER_SCOPE_MEMORY}},
		set:    to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Memory }),
	},
	// The limit in force, whether a user or the driver set it.
	{
		group: gpu.GroupPowerLimit, what: "power limit",
		fields: []fieldID{{gonvml.FI_DEV_POWER_CURRENT_LIMIT, 0}},
		symbol: "nvmlDeviceGetEnforcedPowerLimit", call: number(library.Device.GetEnforcedPowerLimit),
		set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitEnforced] }),
	},
	{
		group: gpu.GroupPowerLimit, what: "highest power limit",
		fields: []fieldID{{gonvml.FI_DEV_POWER_MAX_LIMIT, 0}},
		symbol: "nvmlDeviceGetPowerManagementLimitConstraints", call: number(maxPowerLimit),
		set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitMax] }),
	},
	{
		group: gpu.GroupPowerLimit, what: "lowest power limit",
		fields: []fieldID{{gonvml.FI_DEV_POWER_MIN_LIMIT, 0}},
		symbol: "nvmlDeviceGetPowerManagementLimitConstraints", call: number(minPowerLimit),
		set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitMin] }),
	},
	{
		group: gpu.GroupPowerLimit, what: "default power limit",
		fields: []fieldID{{gonvml.FI_DEV_POWER_DEFAULT_LIMIT, 0}},
		symbol: "nvmlDeviceGetPowerManagementDefaultLimit", call: number(library.Device.GetPowerManagementDefaultLimit),
		set: to(watts, func(d *gpu.Device) *gpu.Opt[float64] { return &d.Power.Limit[gpu.LimitDefault] }),
	},
	// Since the driver was loaded.
	{
		group: gpu.GroupEnergy, what: "energy",
		fields: []fieldID{{gonvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION, 0}, {gonvml.FI_DEV_ENERGY, 0}},
		symbol: "nvmlDeviceGetTotalEnergyConsumption", call: number64(library.Device.GetTotalEnergyConsumption),
		set: to(joules, func(d *gpu.Device) *gpu.Counter[float64] { return &d.Energy }),
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
