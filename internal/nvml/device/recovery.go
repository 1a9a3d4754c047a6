// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"fmt"

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

// recovery reads what the driver asks for to get the GPU back to work.
type recovery struct {
	unknown gpu.Opt[int64] // an action that this version does not know, for which a problem stands
}

type recoveryKey struct{} // of the problem

func (r *recovery) read(dev *device, d *gpu.Device) {
	action, ok := dev.fields.count(fieldRecovery)
	if ok && action < int64(len(recoveryActions)) {
		a := &recoveryActions[action]
		d.RecoveryAction = gpu.Some(a.action)
		if a.fault < gpu.NumFaultTypes {
			d.AddFault(a.fault, a.message)
		}
		ok = false
	}
	if unknown := known(action, ok); unknown != r.unknown {
		r.unknown = unknown
		dev.DropProblem(recoveryKey{})
		if ok {
			what := fieldSpecs[fieldRecovery].what
			dev.AddProblem(recoveryKey{}, what, fmt.Errorf(
				"read %s: action %d is not known to this version; see nvidia-smi -q", what, action,
			))
		}
	}
}
