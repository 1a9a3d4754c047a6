// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

// recoveryActions are NVML's nvmlDeviceGpuRecoveryAction_t and what each says of the GPU.
var recoveryActions = [...]struct {
	action  gpu.RecoveryAction
	fault   gpu.FaultType
	message string
}{
	{gpu.RecoveryNone, gpu.NumFaultTypes, ""},
	{gpu.RecoveryReset, gpu.FaultResetRequired, "the driver asks for a reset of the GPU"},
	{gpu.RecoveryReboot, gpu.FaultResetRequired, "the driver asks for a reboot of the node"},
	{gpu.RecoveryDrainP2P, gpu.FaultDrain, "the driver asks for peer-to-peer traffic to be drained"},
	{gpu.RecoveryDrainAndReset, gpu.FaultDrain, "the driver asks for the GPU to be drained and then reset"},
	{gpu.RecoveryIMEXDomain, gpu.FaultDrain, "the driver asks for the IMEX domain to be recovered"},
	// Since 615.
	{gpu.RecoveryBusReset, gpu.FaultResetRequired, "the driver asks for a reset of the GPU by its bus"},
	{gpu.RecoveryReboot, gpu.FaultResetRequired, "the driver asks for a reboot of the system"},
}

// addRecovery tells whether the action is known. Nothing is made up for one that is not.
func addRecovery(d *gpu.Device, action int64) bool {
	if action >= int64(len(recoveryActions)) {
		return false
	}
	a := &recoveryActions[action]
	d.RecoveryAction = gpu.Some(a.action)
	if a.fault < gpu.NumFaultTypes {
		d.AddFault(a.fault, a.message)
	}
	return true
}

// wantsReset tells whether the device can only be helped by someone who needs us to let go of it.
func wantsReset(d *gpu.Device) bool {
	if action, ok := d.RecoveryAction.Get(); ok && (action == gpu.RecoveryReset || action == gpu.RecoveryDrainAndReset) {
		return true
	}
	for _, f := range d.Faults {
		if f.Type == gpu.FaultResetRequired || f.Type == gpu.FaultLost {
			return true
		}
	}
	return false
}

func addRemapFaults(d *gpu.Device) {
	if failed, _ := d.RemappedRows.Failed.Get(); failed {
		d.AddFault(gpu.FaultRemapFailed, "a row of memory could not be remapped: no spare rows are left; have the GPU replaced")
	}
	if pending, _ := d.RemappedRows.Pending.Get(); pending {
		d.AddFault(gpu.FaultRemapPending, "rows of memory are remapped at the next reset of the GPU")
	}
	if pending, _ := d.RetiredPages.Pending.Get(); pending {
		d.AddFault(gpu.FaultRemapPending, "pages of memory are retired at the next reboot or reset of the GPU")
	}
}

// fault is what a device that NVML refuses suffers from.
func (c code) fault() gpu.FaultType {
	switch c {
	case codeGPUIsLost:
		return gpu.FaultLost
	case codeResetRequired:
		return gpu.FaultResetRequired
	case codeVersionMismatch:
		return gpu.FaultDriverMismatch
	default:
		return gpu.FaultUnreachable
	}
}
