// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// recoveryActions are the values of nvmlDeviceGpuRecoveryAction_t in order, and the fault that each means; NumFaultTypes: none.
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

// readRecovery reads what the driver asks for to get the GPU back to work.
func readRecovery(dev *device, d *gpu.Device) {
	action, ok := dev.fields.count(fieldRecovery)
	switch {
	case !ok:
	case action >= int64(len(recoveryActions)):
		d.RequestUnknownRecovery(strconv.FormatInt(action, 10))
	default:
		a := &recoveryActions[action]
		d.RecoveryAction = gpu.Some(a.action)
		if a.fault < gpu.NumFaultTypes {
			d.AddFault(a.fault, a.message)
		}
	}
}
