// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
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
	for printed, want := range map[string]reason{
		"N/A": reasonAbsent, "[N/A]": reasonAbsent, "[Not Supported]": reasonAbsent, "Not Supported": reasonAbsent,
		"[Requested functionality has been deprecated]": reasonAbsent, "Requested functionality has been deprecated": reasonAbsent,
		"--": reasonAbsent, "n/a": reasonAbsent, "Not supported": reasonAbsent, "Not Available": reasonAbsent, "No Data": reasonAbsent,
		"[No data]": reasonAbsent, "System is not in ready state": reasonAbsent, "Not Applicable": reasonAbsent, "GPU needs reset": reasonResetRequired,
		"[Function Not Found]": reasonAbsent, "Not Found": reasonAbsent, "": reasonAbsent, "-": reasonAbsent, "None": reasonAbsent,
		"[GPU is lost]": reasonLost, "GPU is lost": reasonLost, "GPU has fallen off the bus": reasonLost,
		"[GPU requires reset]": reasonResetRequired, "GPU requires reset": reasonResetRequired, "[Reset Required]": reasonResetRequired,
		"[Unknown Error]": reasonError, "Unknown Error": reasonError, "ERR!": reasonError,
		"[Insufficient Permissions]": reasonError, "Insufficient Permissions": reasonError,
		"nan": reasonError, "inf W": reasonError, "0x10": reasonError, "12 parsecs": reasonError,
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
				case reasonAbsent:
					assert.Empty(t, g.Refusals)
					assert.Empty(t, g.Device.Faults)
				case reasonLost:
					require.Len(t, g.Device.Faults, 1)
					assert.Equal(t, gpu.FaultLost, g.Device.Faults[0].Type)
				case reasonResetRequired:
					require.Len(t, g.Device.Faults, 1)
					assert.Equal(t, gpu.FaultResetRequired, g.Device.Faults[0].Type)
				case reasonError:
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

	apps, _, dropped := ComputeApps([]byte("pid, process_name, used_gpu_memory [MiB]\n7, /a, b, c/d, e, 5 MiB\n"), nil)
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

	apps, _, _ := ComputeApps([]byte("pid, used_gpu_memory [MiB]\n7, 5 MiB\n"), []string{"pid", "used_memory"})
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
	assert.True(t, g.Unreadable)
	assert.Equal(t, gpu.Device{
		Vendor: gpu.NVIDIA, Index: gpu.Some(0), Faults: []gpu.Fault{{Type: gpu.FaultResetRequired, Message: "GPU requires reset"}},
	}, g.Device, "what is printed beside the reason is no reading")
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

func TestTrapTextInATreesPlace(t *testing.T) {
	g := oneGPU(t, "<remapped_rows>N/A</remapped_rows><retired_pages>N/A</retired_pages><mig_devices>\n\t\tNone\n\t</mig_devices>"+
		"<clocks_event_reasons_counters>N/A</clocks_event_reasons_counters><processes>N/A</processes><ecc_errors>Unknown Error</ecc_errors>")
	assert.Equal(t, gpu.RemappedRows{}, g.Device.RemappedRows)
	assert.Empty(t, g.MIGDevices)
	assert.Equal(t, []Refusal{{Quantity: "ecc_errors", Reason: "Unknown Error"}}, g.Refusals)
}

func TestTrapSupportedClocksArePassedOver(t *testing.T) {
	g := oneGPU(t, "<supported_clocks><supported_mem_clock><value>1 MHz</value><clocks><sm_clock>9 MHz</sm_clock></clocks></supported_mem_clock></supported_clocks>"+
		"<clocks><sm_clock>5 MHz</sm_clock></clocks>")
	assert.Equal(t, gpu.Some(5e6), g.Device.Clocks[gpu.ClockSM].Speed)
}
