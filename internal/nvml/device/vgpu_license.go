// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// licensableFeatures has only the version whose structure the binding has.
var licensableFeatures = library.NewFunction("vGPU licence", "nvmlDeviceGetGridLicensableFeatures_v4")

// readVGPULicense reads whether a virtual GPU has its licence. For other GPUs it only checks that they are not virtual.
func readVGPULicense(dev *device, d *gpu.Device) {
	mode, ok := dev.constants[virtualizationMode]
	if !ok {
		if mode, ok = dev.value(virtualizationMode, number(library.Device.GetVirtualizationMode)); !ok {
			return
		}
		dev.constants[virtualizationMode] = mode
	}
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
