// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A GPU's name is on each of its points, and so is the name of a process. The output may come from a node that cannot be trusted.
func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	log, err := XML(fmt.Appendf(nil, `<nvidia_smi_log><driver_version>580%[1]s</driver_version><gpu id="00000000:07:00.0">
<product_name>%[1]s</product_name><uuid>GPU-%[1]s</uuid><serial>%[1]s</serial><vbios_version>%[1]s</vbios_version>
<mig_devices><mig_device><uuid>MIG-%[1]s</uuid></mig_device></mig_devices>
<processes><process_info><pid>1</pid><process_name>%[1]s</process_name></process_info></processes></gpu></nvidia_smi_log>`, long))
	require.NoError(t, err)
	require.Len(t, log.GPUs, 1)
	g := &log.GPUs[0]
	for name, s := range map[string]string{
		"driver": log.DriverVersion, "model": g.Device.Model, "id": g.Device.ID, "serial": g.Device.Info.Serial,
		"firmware": g.Device.Info.FirmwareVersion, "instance": g.MIGDevices[0].UUID, "process": g.Processes[0].Name,
	} {
		assert.NotEmpty(t, s, name)
		assert.LessOrEqual(t, len(s), maxText, name)
		assert.True(t, utf8.ValidString(s), name)
	}
	for _, l := range DeviceList([]byte("GPU 0: " + long + " (UUID: GPU-" + long + ")\n  MIG " + long + " Device 0: (UUID: MIG-" + long + ")\n")) {
		assert.LessOrEqual(t, len(l.Name)+len(l.UUID), maxText)
	}
	apps, _, _ := ComputeApps([]byte("GPU-"+long+", 1, 5, "+long+"\n"), []string{"gpu_uuid", "pid", "used_gpu_memory", "process_name"})
	require.Len(t, apps, 1)
	assert.LessOrEqual(t, len(apps[0].Name), maxText)
	assert.LessOrEqual(t, len(apps[0].UUID), maxText)
}

func TestMessagesAreBounded(t *testing.T) {
	var said strings.Builder
	for i := range maxGPUs + 2 {
		fmt.Fprintf(&said, "WARNING: infoROM is corrupted at gpu %04X:%02X:00.0\n", i>>8, i&0xff)
	}
	assert.Len(t, Diagnose(nil, []byte(said.String()), 0).CorruptInfoROM, maxGPUs)
}

// Counts and clocks are never negative, and 1e300 MHz overflows as hertz.
func TestNumbersOverflow(t *testing.T) {
	log, err := XML([]byte(`<nvidia_smi_log><gpu id="00000000:07:00.0"><uuid>GPU-1</uuid>
<ecc_errors><volatile><sram_uncorrectable>9000000000000000000</sram_uncorrectable><dram_uncorrectable>9000000000000000000</dram_uncorrectable></volatile></ecc_errors>
<clocks><sm_clock>` + strings.Repeat("9", 300) + ` MHz</sm_clock><mem_clock>-5 MHz</mem_clock></clocks></gpu></nvidia_smi_log>`))
	require.NoError(t, err)
	d := &log.GPUs[0].Device
	assert.Empty(t, d.Errors)
	assert.False(t, d.Clocks[gpu.ClockSM].Speed.Known())
	assert.False(t, d.Clocks[gpu.ClockMemory].Speed.Known())
}

func TestXMLBounds(t *testing.T) {
	process := "<process_info><pid>5</pid><used_memory>1 MiB</used_memory></process_info>"
	g, err := XML(gpuXML("<processes>" + strings.Repeat(process, maxProcesses+3) + "<process_info><type>C</type></process_info></processes>"))
	require.NoError(t, err)
	assert.Len(t, g.GPUs[0].Processes, maxProcesses)
	assert.Equal(t, 4, g.Dropped)

	one := string(gpuXML(""))
	begin, end := strings.Index(one, "<gpu "), strings.Index(one, "</nvidia_smi_log>")
	many, err := XML([]byte(one[:begin] + strings.Repeat(one[begin:end], maxGPUs+2) + one[end:]))
	require.NoError(t, err)
	assert.Len(t, many.GPUs, maxGPUs)
	assert.Equal(t, 2, many.Dropped)

	device := "<mig_device><index>0</index></mig_device>"
	mig, err := XML(gpuXML("<mig_devices>" + strings.Repeat(device, maxMIG+1) + "</mig_devices>"))
	require.NoError(t, err)
	assert.Len(t, mig.GPUs[0].MIGDevices, maxMIG)
	assert.Equal(t, 1, mig.Dropped)
}

func TestTableBounds(t *testing.T) {
	processes, _, dropped := ComputeApps([]byte("pid, gpu_uuid\n"+strings.Repeat("5, GPU-1\n", maxProcesses+2)), nil)
	assert.Len(t, processes, maxProcesses)
	assert.Equal(t, 2, dropped)

	var help strings.Builder
	for i := range maxFields + 2 {
		fmt.Fprintf(&help, "\"field%d\"\n", i)
	}
	assert.Len(t, Help([]byte(help.String())), maxFields)
}
