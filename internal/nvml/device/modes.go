// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// modeRows are what the GPU is set to. Those that do not change while the driver stays are constant.
var modeRows = []quantity{
	{
		group: gpu.GroupModes, name: "persistence mode",
		symbol: "nvmlDeviceGetPersistenceMode", call: number(library.Device.GetPersistenceMode), set: modeWord(gpu.ModePersistence, enableStates[:]),
	},
	{
		group: gpu.GroupModes, name: "compute mode",
		symbol: "nvmlDeviceGetComputeMode", call: number(library.Device.GetComputeMode), set: modeWord(gpu.ModeCompute, computeModes[:]),
	},
	{
		group: gpu.GroupModes, name: "GSP mode", constant: true,
		symbol: "nvmlDeviceGetGspFirmwareMode", call: gspMode, set: modeWord(gpu.ModeGSP, enableStates[:]),
	},
}

// modeWord returns the function that sets a mode to the word for a value.
func modeWord(name gpu.ModeName, words []string) setter {
	return func(d *gpu.Device, v library.Value, ok bool) bool {
		if ok {
			d.Modes[name].Value = word(words, int64(min(v.Unsigned, maxMode)))
		}
		return ok
	}
}

func gspMode(h library.Device) (v library.Value, ok bool, ret library.Return) {
	mode, _, ret := h.GetGspFirmwareMode()
	if mode {
		v.Unsigned = 1
	}
	return v, true, ret
}

// readResetModes reads the modes that change at a reset.
func readResetModes(dev *device, d *gpu.Device) {
	if current, ok := dev.fields.count(rowECCMode); ok {
		d.Modes[gpu.ModeECC].Value = word(enableStates[:], current)
	}
	if dev.migModes.known {
		d.Modes[gpu.ModeMIG].Value = word(enableStates[:], int64(dev.migModes.current))
	}
}

// readPendingModes reads whether the modes that change at a reset are set to something else from then on.
func readPendingModes(dev *device, d *gpu.Device) {
	current, ok := dev.fields.count(rowECCMode)
	if pending, known := dev.fields.count(rowECCPending); ok && known {
		d.Modes[gpu.ModeECC].Pending = gpu.Some(current != pending)
	}
	if m := dev.migModes; m.known {
		d.Modes[gpu.ModeMIG].Pending = gpu.Some(m.current != m.pending)
	}
}

// maxMode is more than any value of a mode.
const maxMode = 1 << 16

// migModes are the last answers of nvmlDeviceGetMigMode.
type migModes struct {
	current, pending int
	known            bool
}

// licensableFeatures has only the version whose structure the binding has.
var licensableFeatures = library.NewFunction("vGPU licence", "nvmlDeviceGetGridLicensableFeatures_v4")

// readVGPULicense reads whether a virtual GPU has its licence. For other GPUs it only checks that they are not virtual.
func readVGPULicense(dev *device, d *gpu.Device) {
	mode, ok := dev.quantity(rowVirtualization)
	if !ok {
		return
	}
	dev.constants[quantityRows[rowVirtualization].function] = mode
	if word(virtualizationModes[:], int64(min(mode.Unsigned, maxMode))) != "vgpu" || !dev.Can(licensableFeatures) {
		return
	}
	all, ret := dev.handle.GetGridLicensableFeatures()
	if !dev.OK(licensableFeatures, library.Code(ret)) || all.IsGridLicenseSupported == 0 || all.LicensableFeaturesCount == 0 {
		return
	}
	licensed := false
	features := all.GridLicensableFeatures[:min(int(all.LicensableFeaturesCount), len(all.GridLicensableFeatures))]
	for i := range features {
		licensed = licensed || features[i].FeatureState != 0
	}
	d.VGPULicensed = gpu.Some(licensed)
}
