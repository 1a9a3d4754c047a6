// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestHealth(t *testing.T) {
	tests := map[string]struct {
		set    string
		state  gpu.State
		faults []gpu.FaultType
		action gpu.Opt[gpu.RecoveryAction]
	}{
		"healthy":         {"", gpu.StateOK, nil, gpu.Some(gpu.RecoveryNone)},
		"remap pending":   {"remapped.pending = 1", gpu.StatePredictedFailure, []gpu.FaultType{gpu.FaultRemapPending}, gpu.Some(gpu.RecoveryNone)},
		"remap failed":    {"remapped.failure = 1", gpu.StatePredictedFailure, []gpu.FaultType{gpu.FaultRemapFailed}, gpu.Some(gpu.RecoveryNone)},
		"reset":           {"recovery_action = 1", gpu.StateFailed, []gpu.FaultType{gpu.FaultResetRequired}, gpu.Some(gpu.RecoveryReset)},
		"reboot":          {"recovery_action = 2", gpu.StateFailed, []gpu.FaultType{gpu.FaultResetRequired}, gpu.Some(gpu.RecoveryReboot)},
		"drain P2P":       {"recovery_action = 3", gpu.StateDegraded, []gpu.FaultType{gpu.FaultDrain}, gpu.Some(gpu.RecoveryDrainP2P)},
		"drain and reset": {"recovery_action = 4", gpu.StateDegraded, []gpu.FaultType{gpu.FaultDrain}, gpu.Some(gpu.RecoveryDrainAndReset)},
		"IMEX":            {"recovery_action = 5", gpu.StateDegraded, []gpu.FaultType{gpu.FaultDrain}, gpu.Some(gpu.RecoveryIMEXDomain)},
		"bus reset":       {"recovery_action = 6", gpu.StateFailed, []gpu.FaultType{gpu.FaultResetRequired}, gpu.Some(gpu.RecoveryBusReset)},
		"system reboot":   {"recovery_action = 7", gpu.StateFailed, []gpu.FaultType{gpu.FaultResetRequired}, gpu.Some(gpu.RecoveryReboot)},
		"not known yet":   {"recovery_action = 77", gpu.StateDegraded, []gpu.FaultType{gpu.FaultRecovery}, gpu.Some(gpu.RecoveryOther)},
		"retirement": {
			"board = turing\nretired.pending = 1\nretired.sbe = 3\nretired.dbe = 2", gpu.StatePredictedFailure,
			[]gpu.FaultType{gpu.FaultRemapPending},
			gpu.Opt[gpu.RecoveryAction]{},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\n"+tt.set)
			n := b.read()
			d := gpuAt(t, n, 0)
			assert.Equal(t, tt.state, d.State())
			var faults []gpu.FaultType
			for _, f := range d.Faults {
				faults = append(faults, f.Type)
				assert.NotEmpty(t, f.Message)
			}
			assert.Equal(t, tt.faults, faults)
			assert.Equal(t, tt.action, d.RecoveryAction)
			assert.True(t, d.Power.Draw.Known(), "it can be read all the same")
			assert.Equal(t, [2]int64{1, 0}, presence(n))
		})
	}
}
