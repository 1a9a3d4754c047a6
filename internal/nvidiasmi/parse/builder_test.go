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
	assert.False(t, g.Device.Power.Instant.Known(), "an old driver does not show whether it averages")
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
		"one part unknown": {"<sram_uncorrectable>Function Not Found</sram_uncorrectable><dram_uncorrectable>5</dram_uncorrectable>", ""},
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

// Drivers up to 340 print compute processes alone, in an element of their own.
func TestXMLComputeProcesses(t *testing.T) {
	g := oneGPU(t, "<compute_processes><process_info><pid>905495</pid><process_name>/opt/a/b.e150</process_name><used_memory>98 MiB</used_memory></process_info></compute_processes>")
	assert.Equal(t, []Process{{PID: 905495, Type: gpu.ProcessCompute, Name: "/opt/a/b.e150", Memory: gpu.Some[int64](98 << 20)}}, g.Processes)
	assert.True(t, g.ProcessesRead)
	assert.True(t, oneGPU(t, "<compute_processes>\n</compute_processes>").ProcessesRead)
	assert.False(t, oneGPU(t, "<compute_processes>N/A</compute_processes>").ProcessesRead)
}

func TestXMLFirmwareVersion(t *testing.T) {
	for printed, want := range map[string]string{"96.00.74.00.01": "96.00.74.00.01", "xx.xx.xx.xx.xx": ""} {
		assert.Equal(t, want, oneGPU(t, "<vbios_version>"+printed+"</vbios_version>").Device.Info.FirmwareVersion)
	}
}

func TestXMLBoardPartNumber(t *testing.T) {
	for elements, want := range map[string]string{
		"<gpu_part_number>900-2G183-0000-000</gpu_part_number>":                                                          "900-2G183-0000-000",
		"<gpu_part_number>000-00000-0000-000</gpu_part_number>":                                                          "",
		"<gpu_part_number>1EB8-895-A1</gpu_part_number>":                                                                 "",
		"<board_part_number>N/A</board_part_number><gpu_part_number>N/A</gpu_part_number>":                               "",
		"<board_part_number>692-2G520-0200-000</board_part_number><gpu_part_number>2330-885-A1</gpu_part_number>":        "692-2G520-0200-000",
		"<board_part_number>692-2G520-0200-000</board_part_number><gpu_part_number>900-2G183-0000-000</gpu_part_number>": "692-2G520-0200-000",
	} {
		assert.Equal(t, want, oneGPU(t, elements).Device.Info.BoardPartNumber, elements)
	}
}

// Every flag that reports a fault, in its place in the XML.
func TestXMLFaults(t *testing.T) {
	for elements, want := range map[string]gpu.FaultType{
		"<ecc_errors><unrepairable_memory>Yes</unrepairable_memory></ecc_errors>":                             gpu.FaultRemapFailed,
		"<ecc_errors><channel_repair_pending>Yes</channel_repair_pending></ecc_errors>":                       gpu.FaultRemapPending,
		"<retired_pages><pending_blacklist>Yes</pending_blacklist></retired_pages>":                           gpu.FaultRemapPending,
		"<retired_pages><pending_retirement>Yes</pending_retirement></retired_pages>":                         gpu.FaultRemapPending,
		"<remapped_rows><remapped_row_pending>Yes</remapped_row_pending></remapped_rows>":                     gpu.FaultRemapPending,
		"<remapped_rows><remapped_row_failure>Yes</remapped_row_failure></remapped_rows>":                     gpu.FaultRemapFailed,
		"<inforom_version><img_version>Corrupted infoROM</img_version></inforom_version>":                     gpu.FaultInfoROM,
		"<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>":                           gpu.FaultResetRequired,
		"<gpu_reset_status><drain_and_reset_recommended>Yes</drain_and_reset_recommended></gpu_reset_status>": gpu.FaultDrain,
	} {
		d := oneGPU(t, elements).Device
		if assert.Len(t, d.Faults, 1, elements) {
			assert.Equal(t, want, d.Faults[0].Type, elements)
		}
		assert.Empty(t, oneGPU(t, strings.NewReplacer("Yes", "No", "Corrupted infoROM", "G520.0200.00.05").Replace(elements)).Device.Faults, elements)
	}
}

// A value that one MIG device or process lacks is not taken from the one before it.
func TestXMLPartsAreSeparate(t *testing.T) {
	g := oneGPU(t, "<mig_devices><mig_device><index>0</index><gpu_instance_id>2</gpu_instance_id><compute_instance_id>1</compute_instance_id>"+
		"<uuid>MIG-1</uuid><fb_memory_usage><used>5 MiB</used></fb_memory_usage></mig_device><mig_device><index>1</index></mig_device></mig_devices>"+
		"<processes><process_info><pid>1</pid><gpu_instance_id>2</gpu_instance_id><compute_instance_id>1</compute_instance_id><type>C</type>"+
		"<process_name>a</process_name><used_memory>5 MiB</used_memory></process_info><process_info><pid>2</pid></process_info>"+
		"<process_info><pid>N/A</pid></process_info></processes>")
	assert.Equal(t, []MIGDevice{
		{
			Index: gpu.Some[int64](0), GI: gpu.Some[int64](2), CI: gpu.Some[int64](1), UUID: "MIG-1",
			Memory: gpu.Memory{Usage: gpu.Some[int64](5 << 20)},
		},
		{Index: gpu.Some[int64](1)},
	}, g.MIGDevices)
	assert.Equal(t, []Process{
		{PID: 1, GI: gpu.Some[int64](2), CI: gpu.Some[int64](1), Type: gpu.ProcessCompute, Name: "a", Memory: gpu.Some[int64](5 << 20)},
		{PID: 2},
	}, g.Processes, "what has no PID is no process")
}

// If one of two elements with the same meaning is missing, the other one is used.
func TestXMLSecondBest(t *testing.T) {
	path := func(attribute, element string) string {
		log, err := XML([]byte("<nvidia_smi_log><gpu" + attribute + ">" + element + "</gpu></nvidia_smi_log>"))
		require.NoError(t, err)
		require.Len(t, log.GPUs, 1)
		return log.GPUs[0].Device.Info.PCIAddress
	}
	assert.Equal(t, "0000:1a:00.0", path(` id="00000000:1A:00.0"`, ""))
	assert.Equal(t, "0000:1b:00.0", path("", "<pci><pci_bus_id>00000000:1B:00.0</pci_bus_id></pci>"))

	for element, want := range map[string]float64{
		"<power_limit>300.00 W</power_limit>":                                                                        300,
		"<requested_power_limit>300.00 W</requested_power_limit>":                                                    300,
		"<power_limit>300.00 W</power_limit><enforced_power_limit>250.00 W</enforced_power_limit>":                   250,
		"<current_power_limit>250.00 W</current_power_limit><requested_power_limit>300.00 W</requested_power_limit>": 250,
	} {
		g := oneGPU(t, "<gpu_power_readings>"+element+"</gpu_power_readings>")
		assert.Equal(t, gpu.Some(want), g.Device.Power.Limit[gpu.LimitEnforced], element)
	}
}

// The parts of an error count are added up unless one of them could not be read.
func TestXMLParityAndSECDED(t *testing.T) {
	counts := func(parity, secded, dram string) gpu.Opt[float64] {
		return errorsOf(oneGPU(t, "<ecc_errors><volatile><sram_uncorrectable_parity>"+parity+"</sram_uncorrectable_parity><sram_uncorrectable_secded>"+
			secded+"</sram_uncorrectable_secded><dram_uncorrectable>"+dram+"</dram_uncorrectable></volatile></ecc_errors>"), gpu.ErrorUncorrected, false)
	}
	assert.Equal(t, gpu.Some(7.0), counts("1", "2", "4"))
	assert.Equal(t, gpu.Some(3.0), counts("1", "2", "N/A"))
	assert.Equal(t, gpu.Some(6.0), counts("N/A", "2", "4"))
	assert.Equal(t, gpu.Opt[float64]{}, counts("1", "ERR!", "4"))
	assert.Equal(t, gpu.Opt[float64]{}, counts("N/A", "N/A", "N/A"))
}
