// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import "github.com/otelgpu/gpureceiver/internal/gpu"

// recordStatus records the state of the device: 1 for the current state, 0 for each other state. A device that could not be read has
// none.
func recordStatus(p *devicePoints) {
	if p.device.Unread {
		return
	}
	current := p.device.State()
	for state, name := range states {
		p.builder.RecordHwStatusDataPoint(p.ts, flag(current == gpu.State(state)), p.device.ID, name, hwTypeGPU, p.identity...)
	}
}

// recordFaults records why the state is what it is.
func recordFaults(p *devicePoints) {
	for _, fault := range p.device.Faults {
		p.builder.RecordHwGpuFaultDataPoint(p.ts, 1, faultTypes[fault.Type], p.device.ID, p.identity...)
	}
}

func recordRecoveryAction(p *devicePoints) {
	if action, ok := p.device.RecoveryAction.Get(); ok {
		p.builder.RecordHwGpuRecoveryActionDataPoint(p.ts, 1, recoveryActions[action], p.device.ID, p.identity...)
	}
}
