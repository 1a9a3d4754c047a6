// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// modeFields returns the modes, and the licence of a virtual GPU. The modes of MIG and ECC are always queried, or with the errors.
func modeFields() []Field {
	const modes = gpu.GroupModes
	return []Field{
		column("persistence_mode", modes, "persistence_mode", mode(gpu.ModePersistence)),
		column("compute_mode", modes, "compute_mode", mode(gpu.ModeCompute)),
		column("mig.mode.pending", gpu.GroupPendingModes, "mig_mode/pending_mig", pendingMode(gpu.ModeMIG)),
		column("ecc.mode.pending", gpu.GroupPendingModes, "ecc_mode/pending_ecc", pendingMode(gpu.ModeECC)),
		column("gsp.mode.current", modes, "", mode(gpu.ModeGSP)).called("gsp.mode"),
		xmlOnly("gsp_firmware_version", "gsp_firmware_version", setGSP),
		xmlOnly("virtualization_mode", "gpu_virtualization_mode/virtualization_mode", setVirtualization),
		xmlOnly("license_status", "vgpu_software_licensed_product/license_status grid_licensed_product/license_status", setLicense),
	}
}

// mode returns a setter of what a mode is set to.
func mode(m gpu.ModeName) setter {
	return wordOf(func(b *builder) *string { return &device(b).Modes[m].Value })
}

// pendingMode returns a setter of what a mode will be set to after the next reset or restart.
func pendingMode(m gpu.ModeName) setter {
	return wordOf(func(b *builder) *string { return &b.parts.pendingModes[m] })
}

// addModes adds whether another value of a mode waits. A GPU that is not virtual may print a licence, too.
func (b *builder) addModes() {
	d := &b.gpu.Device
	if d.Modes[gpu.ModeVirtualization].Value == "vgpu" {
		d.VGPULicensed = b.parts.licensed
	}
	for m, pending := range b.parts.pendingModes {
		if current := &d.Modes[m]; current.Value != "" && pending != "" {
			current.Pending = gpu.Some(current.Value != pending)
		}
	}
}

// setVirtualization reads the mode of virtualization. None, elsewhere a reason, is the mode of a GPU that is used directly.
func setVirtualization(b *builder, printed []byte) bool {
	if string(bytes.TrimSpace(printed)) == "None" {
		device(b).Modes[gpu.ModeVirtualization].Value = "none"
		return true
	}
	return mode(gpu.ModeVirtualization)(b, printed)
}

// setGSP reads the version of the firmware of the GSP, which the driver has only while it uses the GSP.
func setGSP(b *builder, printed []byte) bool {
	version, ok := freeText(printed)
	if digits([]byte(version)) > 0 {
		device(b).Modes[gpu.ModeGSP].Value = "enabled"
	}
	return ok
}

// setLicense reads the licence of a virtual GPU: Licensed (Expiry: …), Unlicensed (Restricted).
func setLicense(b *builder, printed []byte) bool {
	status, ok := freeText(printed)
	status, _, _ = strings.Cut(strings.ToLower(status), " ")
	if status == "licensed" || status == "unlicensed" {
		b.parts.licensed = gpu.Some(status == "licensed")
	}
	return ok
}
