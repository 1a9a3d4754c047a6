// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// mode returns a setter of what a mode is set to.
func mode(quantity string, m gpu.ModeName) setter {
	return wordOf(quantity, func(b *builder) *string { return &device(b).Modes[m].Value })
}

// pendingMode returns a setter of what a mode will be set to after the next reset or restart.
func pendingMode(quantity string, m gpu.ModeName) setter {
	return wordOf(quantity, func(b *builder) *string { return &b.parts.pendingModes[m] })
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

func setMIGMode() setter {
	return both(boolOf("mig.mode", func(b *builder) *gpu.Opt[bool] { return &b.gpu.MIGEnabled }), mode("mig.mode", gpu.ModeMIG))
}

// setVirtualization reads the mode of virtualization. None, elsewhere a reason, is the mode of a GPU that is used directly.
func setVirtualization(b *builder, printed []byte) {
	if string(bytes.TrimSpace(printed)) == "None" {
		device(b).Modes[gpu.ModeVirtualization].Value = "none"
		return
	}
	mode("virtualization_mode", gpu.ModeVirtualization)(b, printed)
}

// setGSP reads the version of the firmware of the GSP, which the driver has only while it uses the GSP.
func setGSP(b *builder, printed []byte) {
	switch version, ok := freeText(printed); {
	case !ok:
		b.note("gsp_firmware_version", printed)
	case digits([]byte(version)) > 0:
		device(b).Modes[gpu.ModeGSP].Value = "enabled"
	}
}

// setLicense reads the licence of a virtual GPU: Licensed (Expiry: …), Unlicensed (Restricted).
func setLicense(b *builder, printed []byte) {
	status, ok := freeText(printed)
	status, _, _ = strings.Cut(strings.ToLower(status), " ")
	switch {
	case !ok:
		b.note("license_status", printed)
	case status == "licensed" || status == "unlicensed":
		b.parts.licensed = gpu.Some(status == "licensed")
	}
}

// xmlModes reads the modes, and the licence of a virtual GPU.
func xmlModes() map[string]*element {
	return map[string]*element{
		"persistence_mode": leaf(mode("persistence_mode", gpu.ModePersistence)),
		"compute_mode":     leaf(mode("compute_mode", gpu.ModeCompute)),
		"mig_mode": branch(map[string]*element{
			"current_mig": leaf(setMIGMode()),
			"pending_mig": leaf(pendingMode("mig.mode.pending", gpu.ModeMIG)),
		}),
		"gpu_virtualization_mode": branch(map[string]*element{"virtualization_mode": leaf(setVirtualization)}),
		"gsp_firmware_version":    leaf(setGSP),

		"vgpu_software_licensed_product": branch(map[string]*element{"license_status": leaf(setLicense)}),
		"grid_licensed_product":          branch(map[string]*element{"license_status": leaf(setLicense)}),
	}
}

// modeFields returns the columns of the modes. The columns of MIG and ECC are always queried, or with the errors.
func modeFields() []Field {
	const modes = gpu.GroupModes
	return []Field{
		{[]string{"persistence_mode"}, modes, false, mode("persistence_mode", gpu.ModePersistence)},
		{[]string{"compute_mode"}, modes, false, mode("compute_mode", gpu.ModeCompute)},
		{[]string{"mig.mode.pending"}, gpu.GroupPendingModes, false, pendingMode("mig.mode.pending", gpu.ModeMIG)},
		{[]string{"ecc.mode.pending"}, gpu.GroupPendingModes, false, pendingMode("ecc.mode.pending", gpu.ModeECC)},
		{[]string{"gsp.mode.current"}, modes, false, mode("gsp.mode", gpu.ModeGSP)},
	}
}
