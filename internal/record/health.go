// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// recordStatus records the state of the device: 1 for the current state, 0 for each other state. A device that could not be read has no
// state.
func recordStatus(p *devicePoints) {
	if p.device.Unread {
		return
	}
	current := p.device.State()
	for state, name := range states {
		p.builder.RecordHwStatusDataPoint(p.ts, flag(current == gpu.State(state)), p.device.ID, name, hwTypeGPU, p.identity...)
	}
}

// recordFaults records why the state is what it is: 1 for each current fault, 0 for each earlier fault of the device. A device that could
// not be read has no points.
func recordFaults(p *devicePoints) {
	if p.device.Unread {
		return
	}
	var present [gpu.NumFaultTypes]bool
	for _, fault := range p.device.Faults {
		present[fault.Type], p.past.faults[fault.Type] = true, true
	}
	for fault, recorded := range p.past.faults {
		if recorded {
			p.builder.RecordHwGpuFaultDataPoint(p.ts, flag(present[fault]), faultTypes[fault], p.device.ID, p.identity...)
		}
	}
}

// recordRecoveryAction records 1 for the action that the driver requests, 0 for each action that it has requested.
func recordRecoveryAction(p *devicePoints) {
	requested := recoveryAction(p.device.RecoveryAction, p.device.RecoveryWord)
	if requested == "" {
		return
	}
	p.past.request(requested)
	for _, action := range p.past.actions {
		p.builder.RecordHwGpuRecoveryActionDataPoint(p.ts, flag(action == requested), action, p.device.ID, p.identity...)
	}
}

// maxRecoveryWord bounds the words of a driver that this version does not know.
const maxRecoveryWord = 64

// recoveryAction returns the name of the action that the driver requests; empty if it is unknown. A word of the driver that this version
// does not know gets the style of the others: restart_vm for "Restart VM".
func recoveryAction(requested gpu.Opt[gpu.RecoveryAction], own string) string {
	action, ok := requested.Get()
	switch {
	case !ok:
		return ""
	case action != gpu.RecoveryOther:
		return recoveryActions[action]
	}
	words := strings.FieldsFunc(strings.ToLower(own), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words, "_")
	return cmp.Or(name[:min(len(name), maxRecoveryWord)], "_OTHER")
}
