// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The tests of this file are named after what other readers of the tool have stumbled over.

// gpuXML returns a document of one GPU with the elements.
func gpuXML(elements string) []byte {
	return []byte("<?xml version=\"1.0\" ?>\n<nvidia_smi_log><driver_version>580.1</driver_version>" +
		"<gpu id=\"00000000:07:00.0\"><uuid>GPU-1</uuid>" + elements + "</gpu></nvidia_smi_log>")
}

func oneGPU(t *testing.T, elements string) *GPU {
	t.Helper()
	log, err := XML(gpuXML(elements))
	require.NoError(t, err)
	require.True(t, log.Complete)
	require.Len(t, log.GPUs, 1)
	return &log.GPUs[0]
}

// oneRow reads a table of one row.
func oneRow(t *testing.T, names, row string) *GPU {
	t.Helper()
	log, found := QueryGPU([]byte(names+"\n"+row+"\n"), nil)
	require.True(t, found)
	require.Zero(t, log.Dropped)
	require.Len(t, log.GPUs, 1)
	return &log.GPUs[0]
}

func TestTrapNoNumberIsAbsentNeverZero(t *testing.T) {
	for printed, want := range map[string]verdict{
		"N/A": verdictNone, "[N/A]": verdictNone, "[Not Supported]": verdictNone, "Not Supported": verdictNone,
		"[Requested functionality has been deprecated]": verdictNone, "Requested functionality has been deprecated": verdictNone,
		"--": verdictNone, "n/a": verdictNone, "Not supported": verdictNone, "Not Available": verdictNone, "No Data": verdictNone,
		"[No data]": verdictNone, "System is not in ready state": verdictNone, "Not Applicable": verdictNone, "GPU needs reset": verdictReset,
		"[Function Not Found]": verdictNone, "Not Found": verdictNone, "": verdictNone, "-": verdictNone, "None": verdictNone,
		"[GPU is lost]": verdictLost, "GPU is lost": verdictLost, "GPU has fallen off the bus": verdictLost,
		"[GPU requires reset]": verdictReset, "GPU requires reset": verdictReset, "[Reset Required]": verdictReset,
		"[Unknown Error]": verdictRefused, "Unknown Error": verdictRefused, "ERR!": verdictRefused,
		"[Insufficient Permissions]": verdictRefused, "Insufficient Permissions": verdictRefused,
		"nan": verdictRefused, "inf W": verdictRefused, "0x10": verdictRefused, "12 parsecs": verdictRefused,
	} {
		t.Run(printed, func(t *testing.T) {
			for _, g := range []*GPU{
				oneGPU(t, "<temperature><gpu_temp>"+printed+"</gpu_temp></temperature><utilization><gpu_util>"+printed+
					"</gpu_util></utilization><fb_memory_usage><used>"+printed+"</used></fb_memory_usage>"),
				oneRow(t, "index, temperature.gpu, utilization.gpu [%], memory.used [MiB], uuid", "0, "+printed+", "+printed+", "+printed+", GPU-1"),
			} {
				assert.False(t, g.Device.Temperature[gpu.SensorGPU].Known())
				assert.False(t, g.Device.Utilization[gpu.TaskGeneral].Known())
				assert.False(t, g.Device.Memory.Usage.Known())
				switch want {
				case verdictNone:
					assert.Empty(t, g.Refusals)
					assert.Empty(t, g.Device.Faults)
				case verdictLost:
					require.Len(t, g.Device.Faults, 1)
					assert.Equal(t, gpu.FaultLost, g.Device.Faults[0].Type)
				case verdictReset:
					require.Len(t, g.Device.Faults, 1)
					assert.Equal(t, gpu.FaultResetRequired, g.Device.Faults[0].Type)
				case verdictRefused:
					require.Len(t, g.Refusals, 3)
					assert.Equal(t, strings.Trim(printed, "[]"), g.Refusals[0].Reason)
				}
			}
		})
	}
}

func TestTrapUnitsInsideText(t *testing.T) {
	for _, tt := range []struct {
		printed string
		units   []unit
		want    float64
	}{
		{"27.22 W", unitWatts, 27.22},
		{"27.22", unitWatts, 27.22},
		{"35 %", unitFraction, 0.35},
		{"78", unitFraction, 0.78},
		{"16x", unitLanes, 16},
		{"16", unitLanes, 16},
		{"1980 MHz", unitHertz, 1.98e9},
		{"39595 us", unitSeconds, 0.039595},
		{"479 MiB", unitBytes, 479 << 20},
		{"479", unitBytes, 479 << 20},
		{"8192 MB", unitBytes, 8192 << 20},
		{"1 GiB", unitBytes, 1 << 30},
		{"-5 C", unitCelsius, -5},
		{" 63 C ", unitCelsius, 63},
		{"433,78 W", unitWatts, 433.78},
		{"0.00 W", unitWatts, 0},
	} {
		got, ok := number([]byte(tt.printed), tt.units)
		assert.True(t, ok, tt.printed)
		assert.InDelta(t, tt.want, got, 0, tt.printed)
	}
	for _, printed := range []string{"", "-", ".5", "5.", "1e3", "1,024 W", "5 V", "0x10", "--5", "+5", "5 W W", "NaN", "Inf", "1_000"} {
		_, ok := number([]byte(printed), unitWatts)
		assert.False(t, ok, printed)
	}
	_, ok := integer([]byte("18446744073709551615"), unitCount)
	assert.False(t, ok, "NVML's mark for no value is no value")
	_, ok = integer([]byte("-1 MiB"), unitBytes)
	assert.False(t, ok)
}

func TestTrapNoQuotingInTables(t *testing.T) {
	g := oneRow(t, "name, index, power.draw [W]", "NVIDIA A100, PCIe, 40GB, 3, 61.20 W")
	assert.Equal(t, "NVIDIA A100, PCIe, 40GB", g.Device.Model)
	assert.Equal(t, gpu.Some(3), g.Device.Index)
	assert.Equal(t, gpu.Some(61.2), g.Device.Power.Draw)

	apps, _, dropped := Apps([]byte("pid, process_name, used_gpu_memory [MiB]\n7, /a, b, c/d, e, 5 MiB\n"), nil)
	assert.Zero(t, dropped)
	require.Len(t, apps, 1)
	assert.Equal(t, "/a, b, c/d, e", apps[0].Name)
	assert.Equal(t, gpu.Some(int64(5<<20)), apps[0].Memory)
}

func TestTrapHeadingHasTheCanonicalName(t *testing.T) {
	log, _ := QueryGPU([]byte("clocks.current.sm [MHz], clocks.current.graphics [MHz]\n1500 MHz, 1600 MHz\n"), []string{"clocks.sm", "clocks.gr"})
	require.Len(t, log.GPUs, 1)
	assert.Equal(t, gpu.Some(1.5e9), log.GPUs[0].Device.Clocks[gpu.ClockSM].Speed)
	assert.Equal(t, gpu.Some(1.6e9), log.GPUs[0].Device.Clocks[gpu.ClockGraphics].Speed)

	apps, _, _ := Apps([]byte("pid, used_gpu_memory [MiB]\n7, 5 MiB\n"), []string{"pid", "used_memory"})
	require.Len(t, apps, 1)
	assert.Equal(t, gpu.Some(int64(5<<20)), apps[0].Memory)

	// A name that nobody knows is taken for the one that was asked for at its place.
	log, _ = QueryGPU([]byte("index, heat.of.gpu [C], uuid\n0, 50, GPU-1\n"), []string{"index", "temperature.gpu", "uuid"})
	require.Len(t, log.GPUs, 1)
	assert.Equal(t, gpu.Some(50.0), log.GPUs[0].Device.Temperature[gpu.SensorGPU])
}

func TestTrapAliases(t *testing.T) {
	for alias, name := range map[string]string{
		"gpu_name": "name", "gpu_uuid": "uuid", "gpu_serial": "serial", "gpu_bus_id": "pci.bus_id",
		"clocks_throttle_reasons.hw_slowdown": "clocks_event_reasons.hw_slowdown", "remapped_rows.sbe": "remapped_rows.correctable",
		"remapped_rows.dbe": "remapped_rows.uncorrectable", "gpu.power.draw.average": "power.draw.average",
		"gpu.power.draw.instant": "power.draw.instant", "gpu.power.requested_limit": "power.limit",
		"gpu.power.current_limit": "enforced.power.limit", "retired_pages.sbe": "retired_pages.single_bit_ecc.count",
	} {
		for _, column := range []string{alias, name} {
			value := map[bool]string{true: "GPU-1", false: "7"}[strings.HasSuffix(column, "uuid")]
			switch {
			case strings.HasSuffix(column, "bus_id"):
				value = "00000000:07:00.0"
			case strings.HasSuffix(column, "hw_slowdown"):
				value = "Active"
			}
			first, second := oneRow(t, "index, "+alias, "0, "+value), oneRow(t, "index, "+name, "0, "+value)
			assert.Equal(t, second, first, alias)
			assert.NotEqual(t, oneRow(t, "index", "0"), first, "%s is not read", column)
		}
	}
}

func TestTrapPCIAddressDigits(t *testing.T) {
	for printed, want := range map[string]string{
		"00000000:0C:00.0": "0000:0c:00.0", "0000:9b:00.0": "0000:9b:00.0", "00001580:00:00.0": "1580:00:00.0",
		"00010000:01:00.0": "10000:01:00.0", "F8D6:00:00.0": "f8d6:00:00.0",
		"": "", "N/A": "", "0000:9b:00": "", "0000:9b:00:0": "", "zz00:9b:00.0": "", "0000:9g:00.0": "", "000000000:9b:00.0": "", ":9b:00.0": "",
	} {
		assert.Equal(t, want, PCIAddress(printed), printed)
	}
}

func TestTrapRowIndexIsNotTheGPUIndex(t *testing.T) {
	log, found := QueryGPU(testdata(t, "csv/lost.csv"), nil)
	require.True(t, found)
	require.True(t, log.Complete, "the message before the heading is no broken row")
	var indices []int
	for _, g := range log.GPUs {
		index, _ := g.Device.Index.Get()
		indices = append(indices, index)
	}
	assert.Equal(t, []int{0, 1, 3}, indices)
	assert.Empty(t, log.GPUs[2].Device.ID, "a reason is no UUID")
	assert.Empty(t, log.GPUs[2].Device.Model)
	assert.Equal(t, "0000:46:00.0", log.GPUs[2].Device.Info.PCIAddress)
}

func TestTrapResetRowPrintsZeroMemory(t *testing.T) {
	g := oneRow(t, "index, temperature.gpu, utilization.gpu [%], memory.used [MiB]", "0, [GPU requires reset], [GPU requires reset], 0 MiB")
	assert.True(t, g.Refused)
	assert.Equal(t, gpu.Device{
		Vendor: gpu.NVIDIA, Index: gpu.Some(0), Faults: []gpu.Fault{{Type: gpu.FaultResetRequired, Message: "GPU requires reset"}},
	}, g.Device, "what is printed beside the reason is no reading")
}

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

func TestTrapSameLeavesUnderDifferentParents(t *testing.T) {
	g := oneGPU(t, `<gpu_power_readings><average_power_draw>100.00 W</average_power_draw><instant_power_draw>110.00 W</instant_power_draw>
<current_power_limit>300.00 W</current_power_limit><requested_power_limit>350.00 W</requested_power_limit></gpu_power_readings>
<gpu_memory_power_readings><average_power_draw>20.00 W</average_power_draw><instant_power_draw>21.00 W</instant_power_draw></gpu_memory_power_readings>
<module_power_readings><average_power_draw>200.00 W</average_power_draw><current_power_limit>900.00 W</current_power_limit></module_power_readings>
<fb_memory_usage><total>100 MiB</total></fb_memory_usage><bar1_memory_usage><total>200 MiB</total></bar1_memory_usage>
<cc_protected_memory_usage><total>300 MiB</total></cc_protected_memory_usage>
<clocks><sm_clock>1 MHz</sm_clock></clocks><max_clocks><sm_clock>2 MHz</sm_clock></max_clocks>
<applications_clocks><graphics_clock>3 MHz</graphics_clock></applications_clocks>`)
	assert.Equal(t, gpu.Some(100.0), g.Device.Power.Draw)
	assert.Equal(t, gpu.Some(110.0), g.Device.Power.Instant)
	assert.Equal(t, gpu.Some(200.0), g.Device.Power.Module)
	assert.Equal(t, gpu.Some(300.0), g.Device.Power.Limit[gpu.LimitMax])
	assert.Equal(t, gpu.Some(int64(100<<20)), g.Device.Memory.Limit)
	assert.False(t, g.Device.Memory.Protected.Known())
	assert.Equal(t, gpu.Clock{Speed: gpu.Some(1e6), Limit: gpu.Some(2e6)}, g.Device.Clocks[gpu.ClockSM])
	assert.Equal(t, gpu.Clock{}, g.Device.Clocks[gpu.ClockGraphics])
}

func TestTrapDoctypeIsNotEnough(t *testing.T) {
	old := oneGPU(t, `<clocks_throttle_reasons><clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap></clocks_throttle_reasons>
<power_readings><power_draw>50.00 W</power_draw><power_limit>80.00 W</power_limit><enforced_power_limit>70.00 W</enforced_power_limit></power_readings>`)
	renamed := oneGPU(t, `<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap></clocks_event_reasons>
<gpu_power_readings><power_draw>50.00 W</power_draw><requested_power_limit>80.00 W</requested_power_limit><current_power_limit>70.00 W</current_power_limit></gpu_power_readings>`)
	assert.Equal(t, old, renamed)
	assert.Equal(t, gpu.Some(50.0), old.Device.Power.Draw)
	assert.Equal(t, gpu.Some(70.0), old.Device.Power.Limit[gpu.LimitMax])
	assert.Equal(t, gpu.Some(true), old.Device.Throttle[gpu.ThrottleSWPowerCap].Active)
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
		"totals":           {"<double_bit><device_memory>3</device_memory><total>4</total></double_bit>", "4"},
		"sram and dram":    {"<sram_uncorrectable>1</sram_uncorrectable><dram_uncorrectable>2</dram_uncorrectable>", "3"},
		"sram in parts":    {"<sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>2</sram_uncorrectable_secded><dram_uncorrectable>4</dram_uncorrectable>", "7"},
		"both, not twice":  {"<sram_uncorrectable>3</sram_uncorrectable><sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>2</sram_uncorrectable_secded><dram_uncorrectable>4</dram_uncorrectable>", "7"},
		"no sram":          {"<sram_uncorrectable>N/A</sram_uncorrectable><dram_uncorrectable>5</dram_uncorrectable>", "5"},
		"none":             {"<sram_uncorrectable>N/A</sram_uncorrectable><dram_uncorrectable>N/A</dram_uncorrectable>", ""},
		"one part refused": {"<sram_uncorrectable>Unknown Error</sram_uncorrectable><dram_uncorrectable>5</dram_uncorrectable>", ""},
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

func TestTrapTextInATreesPlace(t *testing.T) {
	g := oneGPU(t, "<remapped_rows>N/A</remapped_rows><retired_pages>N/A</retired_pages><mig_devices>\n\t\tNone\n\t</mig_devices>"+
		"<clocks_event_reasons_counters>N/A</clocks_event_reasons_counters><processes>N/A</processes><ecc_errors>Unknown Error</ecc_errors>")
	assert.Equal(t, gpu.RemappedRows{}, g.Device.RemappedRows)
	assert.Empty(t, g.Instances)
	assert.Equal(t, []Refusal{{Quantity: "ecc_errors", Reason: "Unknown Error"}}, g.Refusals)
}

func TestTrapSupportedClocksArePassedOver(t *testing.T) {
	g := oneGPU(t, "<supported_clocks><supported_mem_clock><value>1 MHz</value><clocks><sm_clock>9 MHz</sm_clock></clocks></supported_mem_clock></supported_clocks>"+
		"<clocks><sm_clock>5 MHz</sm_clock></clocks>")
	assert.Equal(t, gpu.Some(5e6), g.Device.Clocks[gpu.ClockSM].Speed)
}

func TestTrapMIGModeHidesUtilization(t *testing.T) {
	log, err := XML(testdata(t, "xml/v12-535-mig.xml"))
	require.NoError(t, err)
	g := log.GPUs[0]
	assert.Equal(t, gpu.Some(true), g.MIG)
	assert.Equal(t, [gpu.NumTasks]gpu.Opt[float64]{}, g.Device.Utilization)
	assert.True(t, g.Device.Memory.Usage.Known())
	assert.True(t, g.Device.Power.Draw.Known())
	require.Len(t, g.Instances, 2)
	assert.Empty(t, g.Instances[0].UUID, "XML does not tell it")
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
