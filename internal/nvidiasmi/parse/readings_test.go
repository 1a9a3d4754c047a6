// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestPerformanceStates(t *testing.T) {
	for printed, want := range map[string]gpu.Opt[int64]{
		"P0": gpu.Some[int64](0), "P15": gpu.Some[int64](15), "8": {}, "P": {}, "Px": {}, "N/A": {},
	} {
		assert.Equal(t, want, oneRow(t, "index, uuid, pstate", "0, GPU-1, "+printed).Device.PerformanceState, printed)
	}
}

func TestRecoveryActions(t *testing.T) {
	faults := map[gpu.RecoveryAction]gpu.FaultType{
		gpu.RecoveryReset: gpu.FaultResetRequired, gpu.RecoveryBusReset: gpu.FaultResetRequired, gpu.RecoveryReboot: gpu.FaultResetRequired,
		gpu.RecoveryDrainP2P: gpu.FaultDrain, gpu.RecoveryDrainAndReset: gpu.FaultDrain, gpu.RecoveryIMEXDomain: gpu.FaultDrain,
		gpu.RecoveryOther: gpu.FaultRecovery,
	}
	for printed, want := range map[string]gpu.Opt[gpu.RecoveryAction]{
		"None": gpu.Some(gpu.RecoveryNone), "Reset": gpu.Some(gpu.RecoveryReset), "GPU Reset": gpu.Some(gpu.RecoveryReset),
		"Reboot": gpu.Some(gpu.RecoveryReboot), "Node Reboot Required": gpu.Some(gpu.RecoveryReboot), "System Reboot": gpu.Some(gpu.RecoveryReboot), "Drain P2P": gpu.Some(gpu.RecoveryDrainP2P),
		"Drain and Reset": gpu.Some(gpu.RecoveryDrainAndReset), "GPU_RESET_BUS": gpu.Some(gpu.RecoveryBusReset), "Bus Reset": gpu.Some(gpu.RecoveryBusReset),
		"Drain-Reset": gpu.Some(gpu.RecoveryDrainAndReset), "IMEX Domain Recovery": gpu.Some(gpu.RecoveryIMEXDomain),
		"Recover IMEX Domain": gpu.Some(gpu.RecoveryIMEXDomain), "Drain (P2P)": gpu.Some(gpu.RecoveryDrainP2P),
		"[None]": gpu.Some(gpu.RecoveryNone), "IMEX Domain": gpu.Some(gpu.RecoveryIMEXDomain), "N/A": {}, "[N/A]": {}, "Unknown Error": {}, "[Whatever]": {},
		"Restart VM": gpu.Some(gpu.RecoveryOther),
	} {
		g := oneGPU(t, "<gpu_recovery_action>"+printed+"</gpu_recovery_action>")
		assert.Equal(t, want, g.Device.RecoveryAction, printed)
		assert.Equal(t, printed == "Unknown Error" || printed == "[Whatever]", len(g.Refusals) == 1, printed)
		action, ok := want.Get()
		if !ok || action == gpu.RecoveryNone {
			assert.Empty(t, g.Device.Faults, printed)
		} else if assert.Len(t, g.Device.Faults, 1, printed) {
			assert.Equal(t, faults[action], g.Device.Faults[0].Type, printed)
		}
	}

	g := oneGPU(t, "<gpu_recovery_action>Restart VM</gpu_recovery_action><fan_speed>30 %</fan_speed>")
	assert.Equal(t, "Restart VM", g.Device.RecoveryWord)
	assert.Equal(t, gpu.StateDegraded, g.Device.State())
	assert.Contains(t, g.Device.Faults[0].Message, "Restart VM")
}

func TestTrapReplayRolloversAreNoDigits(t *testing.T) {
	g := oneGPU(t, "<pci><replay_counter>7</replay_counter><replay_rollover_counter>2</replay_rollover_counter></pci>")
	assert.Equal(t, gpu.Total[int64](7), g.Device.PCIe.Replays)
}

func TestTrapMIGModeHidesUtilization(t *testing.T) {
	log, err := XML(testdata(t, "xml/v12-535-mig.xml"))
	require.NoError(t, err)
	g := log.GPUs[0]
	assert.Equal(t, gpu.Some(true), g.MIGEnabled)
	assert.Equal(t, [gpu.NumTasks]gpu.Opt[float64]{}, g.Device.Utilization)
	assert.True(t, g.Device.Memory.Usage.Known())
	assert.True(t, g.Device.Power.Draw.Known())
	require.Len(t, g.MIGDevices, 2)
	assert.Empty(t, g.MIGDevices[0].UUID, "XML does not tell it")
	require.Len(t, g.Processes, 1)
	assert.Equal(t, gpu.Some(int64(1)), g.Processes[0].GI)
}

func TestTrapResetRowPrintsZeroMemory(t *testing.T) {
	g := oneRow(t, "index, temperature.gpu, utilization.gpu [%], memory.used [MiB], power.limit [W]", "0, [GPU requires reset], [GPU requires reset], 0 MiB, 310.50 W")
	assert.True(t, g.ResetRequired)
	assert.Equal(t, gpu.Device{
		Vendor: gpu.NVIDIA, Index: gpu.Some(0), Faults: []gpu.Fault{{Type: gpu.FaultResetRequired, Message: "GPU requires reset"}},
	}, g.Device, "what the tool invents is no reading")
}

// A GPU that needs a reset still answers for some quantities (driver 580 on an RTX PRO 6000).
func TestResetRowKeepsReadings(t *testing.T) {
	g := oneRow(t, "index, driver_version, memory.total [MiB], memory.used [MiB], temperature.gpu, pstate, fan.speed [%]",
		"0, 580.95.05, 97887 MiB, 58222 MiB, [GPU requires reset], [GPU requires reset], [GPU requires reset]")
	assert.False(t, g.Unreadable)
	assert.Equal(t, gpu.Memory{Limit: gpu.Some[int64](97887 << 20), Usage: gpu.Some[int64](58222 << 20)}, g.Device.Memory)
	assert.Equal(t, []gpu.Fault{{Type: gpu.FaultResetRequired, Message: "GPU requires reset"}}, g.Device.Faults)
}
