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
				oneGPU(t, "<fan_speed>30 %</fan_speed><temperature><gpu_temp>"+printed+"</gpu_temp></temperature><utilization><gpu_util>"+printed+
					"</gpu_util></utilization><fb_memory_usage><used>"+printed+"</used></fb_memory_usage>"),
				oneRow(t, "index, temperature.gpu, utilization.gpu [%], memory.used [MiB], fan.speed [%], uuid", "0, "+printed+", "+printed+", "+printed+", 30 %, GPU-1"),
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

// NVML returns a number with every bit set if it has no value. nvidia-smi prints some of them like any other number, and signed ones with
// the sign.
func TestTrapNoValue(t *testing.T) {
	const mark = "4294967295"
	for name, g := range map[string]*GPU{
		"XML": oneGPU(t, "<fan_speed>"+mark+" %</fan_speed><performance_state>Unknown</performance_state>"+
			"<pci><replay_counter>-1</replay_counter><pci_gpu_link_info><pcie_gen><current_link_gen>-1</current_link_gen></pcie_gen>"+
			"<link_widths><current_link_width>-1x</current_link_width></link_widths></pci_gpu_link_info></pci>"+
			"<utilization><gpu_util>"+mark+" %</gpu_util><memory_util>"+mark+" %</memory_util></utilization>"+
			"<temperature><gpu_temp>"+mark+" C</gpu_temp><gpu_temp_slow_threshold>"+mark+" C</gpu_temp_slow_threshold></temperature>"+
			"<clocks><sm_clock>"+mark+" MHz</sm_clock></clocks>"+
			"<ecc_errors><volatile><sram_correctable>"+mark+"</sram_correctable></volatile></ecc_errors>"+
			"<retired_pages><double_bit_retirement><retired_count>"+mark+"</retired_count></double_bit_retirement></retired_pages>"+
			"<remapped_rows><remapped_row_corr>"+mark+"</remapped_row_corr></remapped_rows>"),
		"table": oneRow(t, "index, uuid, fan.speed [%], pstate, utilization.gpu [%], utilization.memory [%], temperature.gpu, temperature.memory, "+
			"clocks.current.sm [MHz], pcie.link.gen.current, ecc.errors.corrected.volatile.total, retired_pages.double_bit.count, remapped_rows.correctable",
			"0, GPU-1, "+mark+" %, Unknown, "+mark+" %, "+mark+" %, "+mark+", "+mark+", "+mark+" MHz, "+mark+", "+mark+", "+mark+", "+mark),
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, g.Refusals, "an absent value is reported as an error")
			g.Device.ID, g.Device.Index, g.Device.Info = "", gpu.Opt[int]{}, gpu.Info{}
			assert.Equal(t, gpu.Device{Vendor: gpu.NVIDIA}, g.Device)
		})
	}
}

// A reason in the place of a text is not taken for the text, with brackets or without.
func TestFreeText(t *testing.T) {
	for printed, want := range map[string]string{
		"NVIDIA A100": "NVIDIA A100", " NVIDIA A100 ": "NVIDIA A100", "[N/A]": "", "[ Not Supported ]": "", "N/A": "", "[Foo]": "",
		"Unknown Error": "", "Insufficient Permissions": "", "ERR!": "", "GPU is lost": "", "GPU requires reset": "",
		"Corrupted infoROM": "", "Timeout": "", "Insufficient Size": "", "Interrupt Request Issue": "",
	} {
		g := oneRow(t, "index, uuid, name", "0, GPU-1, "+printed)
		assert.Equal(t, want, g.Device.Model, printed)
		assert.Equal(t, want, processName([]byte(printed)), printed)
	}
	assert.Equal(t, "[a", processName([]byte("[a")))
}

func TestRefusalForLackOfPermission(t *testing.T) {
	for reason, want := range map[string]bool{"Insufficient Permissions": true, "No permission": true, "Unknown Error": false, "": false} {
		assert.Equal(t, want, Refusal{Reason: reason}.NoPermission(), reason)
	}
}
