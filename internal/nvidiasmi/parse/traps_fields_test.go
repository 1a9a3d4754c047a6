// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestTrapPowerAverageAndInstant(t *testing.T) {
	for name, tt := range map[string]struct {
		row           string
		draw, instant float64
	}{
		"Ampere and later: draw is the average": {"433.78 W, 433.78 W, 447.35 W", 433.78, 447.35},
		"Turing: draw is instantaneous":         {"111.50 W, [N/A], 111.50 W", 111.5, 111.5},
		"GA100: no average":                     {"[N/A], [N/A], 49.68 W", 49.68, 49.68},
	} {
		t.Run(name, func(t *testing.T) {
			g := oneRow(t, "power.draw [W], power.draw.average [W], power.draw.instant [W]", tt.row)
			assert.Equal(t, gpu.Some(tt.draw), g.Device.Power.Draw)
			assert.Equal(t, gpu.Some(tt.instant), g.Device.Power.Instant)
		})
	}
	g := oneRow(t, "index, power.draw [W]", "0, 12.00 W")
	assert.False(t, g.Device.Power.Instant.Known(), "an old driver does not tell whether it averages")
}

func TestTrapThermalMarginIsNoTemperature(t *testing.T) {
	g := oneGPU(t, `<temperature><gpu_temp>36 C</gpu_temp><gpu_temp_tlimit>54 C</gpu_temp_tlimit>
<gpu_temp_max_tlimit_threshold>-5 C</gpu_temp_max_tlimit_threshold><gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
<gpu_temp_max_gpu_tlimit_threshold>5 C</gpu_temp_max_gpu_tlimit_threshold><gpu_temp_max_mem_tlimit_threshold>0 C</gpu_temp_max_mem_tlimit_threshold>
<gpu_target_temperature>85 C</gpu_target_temperature></temperature>`)
	assert.Equal(t, gpu.Some(54.0), g.Device.TemperatureMargin[gpu.LimitDegraded])
	assert.Equal(t, [gpu.NumSensors][gpu.NumLimits]gpu.Opt[float64]{}, g.Device.TemperatureLimit)
	assert.False(t, g.Device.TemperatureMargin[gpu.LimitCritical].Known())
}

func TestTrapThrottleCountersAreMicroseconds(t *testing.T) {
	for _, name := range []string{"sw_therm_slowdown", "sw_thermal_slowdown"} {
		g := oneGPU(t, "<clocks_event_reasons_counters><clocks_event_reasons_counters_"+name+">7015662857 us</clocks_event_reasons_counters_"+
			name+"></clocks_event_reasons_counters>")
		seconds, known := g.Device.Throttle[gpu.ThrottleSWThermal].Time.Get()
		assert.True(t, known, name)
		assert.InDelta(t, 7015.662857, seconds, 1e-9)
	}
}

func TestTrapECCLayouts(t *testing.T) {
	for name, tt := range map[string]struct {
		elements string
		want     string
	}{
		"totals":            {"<double_bit><device_memory>3</device_memory><total>4</total></double_bit>", "4"},
		"sram and dram":     {"<sram_uncorrectable>1</sram_uncorrectable><dram_uncorrectable>2</dram_uncorrectable>", "3"},
		"sram in parts":     {"<sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>2</sram_uncorrectable_secded><dram_uncorrectable>4</dram_uncorrectable>", "7"},
		"both, not twice":   {"<sram_uncorrectable>3</sram_uncorrectable><sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>2</sram_uncorrectable_secded><dram_uncorrectable>4</dram_uncorrectable>", "7"},
		"no sram":           {"<sram_uncorrectable>N/A</sram_uncorrectable><dram_uncorrectable>5</dram_uncorrectable>", "5"},
		"none":              {"<sram_uncorrectable>N/A</sram_uncorrectable><dram_uncorrectable>N/A</dram_uncorrectable>", ""},
		"one part not told": {"<sram_uncorrectable>Function Not Found</sram_uncorrectable><dram_uncorrectable>5</dram_uncorrectable>", ""},
		"one part refused":  {"<sram_uncorrectable>Unknown Error</sram_uncorrectable><dram_uncorrectable>5</dram_uncorrectable>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := oneGPU(t, "<ecc_errors><volatile>"+tt.elements+"</volatile></ecc_errors>")
			got := ""
			if v, ok := errorsOf(g, gpu.ErrorUncorrected, false).Get(); ok {
				got = fmt.Sprint(v)
			}
			assert.Equal(t, tt.want, got)
			assert.False(t, errorsOf(g, gpu.ErrorUncorrected, true).Known())
		})
	}
}

func TestTrapReplayRolloversAreNoDigits(t *testing.T) {
	g := oneGPU(t, "<pci><replay_counter>7</replay_counter><replay_rollover_counter>2</replay_rollover_counter></pci>")
	assert.Equal(t, gpu.Some(7.0), errorsOf(g, gpu.ErrorPCIeReplay, false))
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

func TestTrapProcessNames(t *testing.T) {
	for name, tt := range map[string]struct{ element, want string }{
		"empty":                  {"", ""},
		"not found":              {"[Not Found]", ""},
		"no permission":          {"[Insufficient Permissions]", ""},
		"bare reason":            {"Insufficient Permissions", ""},
		"escaped":                {"a &lt;b&gt; &amp;c;", "a <b> &c;"},
		"not escaped":            {"sh -c a<b && c>d </x>", "sh -c a<b && c>d </x>"},
		"in brackets, partly":    {"[kworker] x", "[kworker] x"},
		"not UTF-8":              {"/opt/caf\xe9", "/opt/caf\uFFFD"},
		"an ampersand by itself": {"R&D", "R&D"},
	} {
		t.Run(name, func(t *testing.T) {
			g := oneGPU(t, "<processes><process_info><pid>5</pid><process_name>"+tt.element+"</process_name><used_memory>1 MiB</used_memory></process_info></processes>")
			require.Len(t, g.Processes, 1)
			assert.Equal(t, tt.want, g.Processes[0].Name)
			assert.Equal(t, gpu.Some(int64(1<<20)), g.Processes[0].Memory)
		})
	}
}

func TestExecutable(t *testing.T) {
	for name, want := range map[string][2]string{
		"/usr/bin/python3":                       {"python3", "/usr/bin/python3"},
		"./gpu_burn":                             {"gpu_burn", "./gpu_burn"},
		"python":                                 {"python", "python"},
		"/opt/chrome --type=gpu --token=s3cret":  {"chrome", "/opt/chrome"},
		"python3 /srv/train.py":                  {"python3", "python3"},
		"ray::IDLE worker":                       {"ray::IDLE worker", "ray::IDLE worker"},
		"/opt/my app/bin/tool":                   {"tool", "/opt/my app/bin/tool"},
		`C:\Program Files\NZXT CAM\NZXT CAM.exe`: {"NZXT CAM.exe", `C:\Program Files\NZXT CAM\NZXT CAM.exe`},
		"NVIDIA Share.exe":                       {"NVIDIA Share.exe", "NVIDIA Share.exe"},
		"renderD128 --us":                        {"renderD128", "renderD128"},
		"":                                       {"", ""},
	} {
		executable, command := Executable(name)
		assert.Equal(t, want, [2]string{executable, command}, name)
	}
}

func TestRecoveryActions(t *testing.T) {
	faults := map[gpu.RecoveryAction]gpu.FaultType{
		gpu.RecoveryReset: gpu.FaultResetRequired, gpu.RecoveryBusReset: gpu.FaultResetRequired, gpu.RecoveryReboot: gpu.FaultResetRequired,
		gpu.RecoveryDrainP2P: gpu.FaultDrain, gpu.RecoveryDrainAndReset: gpu.FaultDrain, gpu.RecoveryIMEXDomain: gpu.FaultDrain,
	}
	for printed, want := range map[string]gpu.Opt[gpu.RecoveryAction]{
		"None": gpu.Some(gpu.RecoveryNone), "Reset": gpu.Some(gpu.RecoveryReset), "GPU Reset": gpu.Some(gpu.RecoveryReset),
		"Reboot": gpu.Some(gpu.RecoveryReboot), "Node Reboot Required": gpu.Some(gpu.RecoveryReboot), "System Reboot": gpu.Some(gpu.RecoveryReboot), "Drain P2P": gpu.Some(gpu.RecoveryDrainP2P),
		"Drain and Reset": gpu.Some(gpu.RecoveryDrainAndReset), "GPU_RESET_BUS": gpu.Some(gpu.RecoveryBusReset), "Bus Reset": gpu.Some(gpu.RecoveryBusReset),
		"Drain-Reset": gpu.Some(gpu.RecoveryDrainAndReset), "IMEX Domain Recovery": gpu.Some(gpu.RecoveryIMEXDomain),
		"Recover IMEX Domain": gpu.Some(gpu.RecoveryIMEXDomain), "Drain (P2P)": gpu.Some(gpu.RecoveryDrainP2P),
		"[None]": gpu.Some(gpu.RecoveryNone), "IMEX Domain": gpu.Some(gpu.RecoveryIMEXDomain), "N/A": {}, "[N/A]": {}, "Pray": {},
	} {
		g := oneGPU(t, "<gpu_recovery_action>"+printed+"</gpu_recovery_action>")
		assert.Equal(t, want, g.Device.RecoveryAction, printed)
		assert.Equal(t, printed == "Pray", len(g.Refusals) == 1, printed)
		action, known := want.Get()
		if !known || action == gpu.RecoveryNone {
			assert.Empty(t, g.Device.Faults, printed)
		} else if assert.Len(t, g.Device.Faults, 1, printed) {
			assert.Equal(t, faults[action], g.Device.Faults[0].Type, printed)
		}
	}
}

// Where the driver does not tell a limit, nvidia-smi 535 prints what lies in its memory.
func TestTrapPowerOfNoGPU(t *testing.T) {
	g := oneRow(t, "index, power.draw [W], enforced.power.limit [W], power.limit [W]", "0, 300.00 W, 527699.31 W, 1631640.88 W")
	assert.Equal(t, gpu.Some(300.0), g.Device.Power.Draw)
	assert.False(t, g.Device.Power.Limit[gpu.LimitMax].Known())
	assert.Equal(t, []Refusal{
		{Quantity: "enforced.power.limit", Reason: "527699.31 W"}, {Quantity: "power.limit", Reason: "1631640.88 W"},
	}, g.Refusals)
}
