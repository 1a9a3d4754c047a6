// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestTrapOutputThatEndsEarly(t *testing.T) {
	data := testdata(t, "xml/v13-580.xml")
	whole, err := XML(data)
	require.NoError(t, err)
	second := bytes.LastIndex(data, []byte("<gpu id="))
	for end := range data {
		log, err := XML(data[:end])
		if err != nil {
			assert.Less(t, end, 200)
			continue
		}
		assert.False(t, log.Complete && end < len(data)-len("\n"), "%d of %d bytes look complete", end, len(data))
		if end < second {
			assert.LessOrEqual(t, len(log.GPUs), 1, "a GPU that was cut off is no GPU")
		}
		for i, g := range log.GPUs {
			if log.DriverVersion != "" {
				assert.Equal(t, whole.GPUs[i], g)
			}
		}
	}
}

func TestXMLThatIsNotWellFormed(t *testing.T) {
	for name, tt := range map[string]struct {
		elements string
		celsius  gpu.Opt[float64]
	}{
		"element not closed":   {"<temperature><gpu_temp>50 C</temperature>", gpu.Opt[float64]{}},
		"closed twice":         {"<temperature><gpu_temp>50 C</gpu_temp></gpu_temp></temperature></temperature>", gpu.Some(50.0)},
		"wrong order":          {"<temperature><gpu_temp>50 C</temperature></gpu_temp>", gpu.Opt[float64]{}},
		"spaces in tags":       {"<temperature ><gpu_temp >50 C</gpu_temp ></temperature >", gpu.Some(50.0)},
		"comment":              {"<temperature><!-- <gpu_temp>1 C</gpu_temp> --><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"declaration":          {"<!x gpu_temp><temperature><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"capitals":             {"<X><temperature><gpu_temp>1 C</gpu_temp></temperature></X><_x/><temperature><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"instruction":          {"<?x <gpu_temp> ?><temperature><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"text between":         {"warning: x < y<temperature>text<gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"unknown around":       {"<sensors><temperature><gpu_temp>1 C</gpu_temp></temperature></sensors>", gpu.Opt[float64]{}},
		"unknown in itself":    {"<x><x a=\"b\"><temperature></x></x><temperature><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"unknown like another": {"<gpu_tempest>1</gpu_tempest><temperature><gpu_temps>1 C</gpu_temps><gpu_temp>50 C</gpu_temp></temperature>", gpu.Some(50.0)},
		"element in a number":  {"<temperature><gpu_temp>50 C<b/></gpu_temp></temperature>", gpu.Opt[float64]{}},
		"empty":                {"<temperature/>", gpu.Opt[float64]{}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.celsius, oneGPU(t, tt.elements).Device.Temperature[gpu.SensorGPU])
		})
	}
}

func TestXMLWithTheWholeDTD(t *testing.T) {
	data := strings.Replace(string(gpuXML("<fan_speed>5 %</fan_speed>")), "<nvidia_smi_log>",
		"<!DOCTYPE nvidia_smi_log [\n<!ELEMENT nvidia_smi_log (gpu+)>\n<!ELEMENT gpu (#PCDATA)>\n]>\n<nvidia_smi_log>", 1)
	log, err := XML([]byte(data))
	require.NoError(t, err)
	require.Len(t, log.GPUs, 1)
	assert.Len(t, log.GPUs[0].Device.Fans, 1)
}

func TestXMLGarbage(t *testing.T) {
	for _, s := range []string{"", "<", "<nvidia_smi", "nvidia-smi: command not found", "{\"gpu\": []}", "\x00\x01\x02"} {
		_, err := XML([]byte(s))
		require.ErrorContains(t, err, "no nvidia_smi_log")
	}
	_, err := XML([]byte("NVIDIA-SMI has failed" + strings.Repeat(" and so on", 1000)))
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 300, "the error holds the whole output")
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
}

// What each message means where the exit code says nothing, and each exit code where no message does.
func TestDiagnoseMessagesAndCodes(t *testing.T) {
	for message, want := range map[string]Failure{
		"Failed to initialize NVML: Driver Not Loaded":                 FailureDriverNotLoaded,
		"Failed to initialize NVML: NVML Shared Library Not Found":     FailureLibraryMissing,
		"Failed to initialize NVML: No Permission":                     FailureNoPermission,
		"Failed to initialize NVML: No supported GPUs were found":      FailureNoDevices,
		"Failed to initialize NVML: Not Found":                         FailureNoDevices,
		"Mismatch in expected NVML version":                            FailureToolMismatch,
		"NVIDIA-SMI has failed because of something":                   FailureInit,
		"The feature is not supported in this configuration":           FailureUnsupported,
		"Not supported on the device(s)":                               FailureUnsupported,
		"Process monitoring is not supported":                          FailureUnsupported,
		"Failed to process command line":                               FailureUsage,
		"Invalid combination of input arguments. Please run again":     FailureUsage,
		"Option \"--x\" is not recognized":                             FailureUsage,
		"WARNING: something":                                           FailureOther,
		"NVML library version: 535.104":                                FailureOther,
		"GPU 0: problem with GPU 0, and the driver says nothing of it": FailureOther,
	} {
		assert.Equal(t, want, Diagnose([]byte(message+"\n"), nil, 255).Failure, message)
		assert.True(t, isMessage([]byte("  "+message)), message)
	}
	for code, want := range map[int]Failure{
		0: FailureNone, 1: FailureOther, 2: FailureUsage, 3: FailureUnsupported, 4: FailureNoPermission, 5: FailureOther, 6: FailureNoDevices,
		9: FailureDriverNotLoaded, 12: FailureLibraryMissing, 18: FailureDriverMismatch, 255: FailureOther,
	} {
		assert.Equal(t, want, Diagnose(nil, nil, code).Failure, "exit code %d", code)
	}
	d := Diagnose([]byte("on stdout\n"), []byte("on stderr\n"), 1)
	assert.Equal(t, "exit code 1: on stderr", d.Message)
	assert.Equal(t, "exit code 1: on stdout", Diagnose([]byte("on stdout\n"), nil, 1).Message)
}

func TestDiagnose(t *testing.T) {
	for name, tt := range map[string]struct {
		stdout, stderr string
		exit           int
		want           Diagnosis
	}{
		"fine": {stdout: "0, GPU-1\n"},
		"driver not loaded": {
			stdout: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n",
			exit:   9, want: Diagnosis{Failure: FailureDriverNotLoaded},
		},
		"mismatch": {
			stdout: "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.104\n",
			exit:   18, want: Diagnosis{Failure: FailureDriverMismatch},
		},
		"mismatch, other code": {stdout: "Failed to initialize NVML: Driver/library version mismatch\n", exit: 255, want: Diagnosis{Failure: FailureDriverMismatch}},
		"unknown error":        {stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255, want: Diagnosis{Failure: FailureInit}},
		"no permission":        {stdout: "Failed to initialize NVML: Insufficient Permissions\n", exit: 255, want: Diagnosis{Failure: FailureNoPermission}},
		"blocked":              {stdout: "Failed to initialize NVML: GPU access blocked by the operating system\n", exit: 17, want: Diagnosis{Failure: FailureInit}},
		"no library": {
			stdout: "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly installed and present in your system.\nPlease also try adding directory that contains libnvidia-ml.so to your system PATH.\n",
			exit:   12, want: Diagnosis{Failure: FailureLibraryMissing},
		},
		"no devices":        {stdout: "No devices were found\n", exit: 6, want: Diagnosis{Failure: FailureNoDevices}},
		"no devices, 0":     {stdout: "No devices were found\n", want: Diagnosis{Failure: FailureNoDevices}},
		"bad field":         {stdout: "Field \"memory.reserved\" is not a valid field to query.\n\n", exit: 2, want: Diagnosis{Failure: FailureUsage, BadField: "memory.reserved"}},
		"bad field, stderr": {stderr: "Field \"x y\" is not a valid field to query.\n", exit: 1, want: Diagnosis{Failure: FailureUsage, BadField: "x y"}},
		"bad switch":        {stdout: "Option --foo is not recognized. Please run 'nvidia-smi -h'.\n", exit: 2, want: Diagnosis{Failure: FailureUsage}},
		"pmon on WDDM": {
			stdout: "The feature is not supported in this configuration\nNot supported on the device(s)\nFailed to process command line\n",
			exit:   255, want: Diagnosis{Failure: FailureUnsupported},
		},
		"code only":           {exit: 4, want: Diagnosis{Failure: FailureNoPermission}},
		"code and other text": {stdout: "Something went wrong\n", exit: 255, want: Diagnosis{Failure: FailureOther}},
		"tool mismatch": {
			stdout: "Mismatch in versions between nvidia-smi and NVML.\nAre you sure you are using nvidia-smi provided with the driver?\n",
			exit:   255, want: Diagnosis{Failure: FailureToolMismatch},
		},
		"no count":       {stdout: "Unable to determine the number of GPUs\n", exit: 255, want: Diagnosis{Failure: FailureInit}},
		"no count, -L":   {stdout: "Unable to determine the number of available GPUs: Unknown Error\n", exit: 255, want: Diagnosis{Failure: FailureInit}},
		"no devices, -L": {stdout: "No devices found.\n", want: Diagnosis{Failure: FailureNoDevices}},
		"no GPUs":        {stdout: "Failed to initialize NVML: No GPUs were found\n", exit: 255, want: Diagnosis{Failure: FailureNoDevices}},
		"killed":         {exit: -1, want: Diagnosis{Failure: FailureOther}},
		"corrupt infoROM": {
			stdout: "0, GPU-1\nWARNING: infoROM is corrupted at gpu 0000:1A:00.0\n", want: Diagnosis{CorruptInfoROM: []string{"0000:1a:00.0"}},
		},
		"after the document": {
			stdout: "<nvidia_smi_log>\nNo devices were found</nvidia_smi_log>\nWARNING: infoROM is corrupted at gpu 0000:1A:00.0\n",
			want:   Diagnosis{CorruptInfoROM: []string{"0000:1a:00.0"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Diagnose([]byte(tt.stdout), []byte(tt.stderr), tt.exit)
			if tt.want.Failure != FailureNone {
				assert.NotEmpty(t, d.Message)
				assert.NotContains(t, d.Message, "\n")
			}
			d.Message = ""
			assert.Equal(t, tt.want, d)
		})
	}
}

func TestTrapDeviceHandle(t *testing.T) {
	for line, want := range map[string]Unreachable{
		"Unable to determine the device handle for GPU3: 0000:04:00.0: Unknown Error": {gpu.Some(3), "0000:04:00.0", "Unknown Error"},
		"Unable to determine the device handle for GPU0000:91:00.0: Unknown Error":    {gpu.Opt[int]{}, "0000:91:00.0", "Unknown Error"},
		"Unable to determine the device handle for GPU 0000:01:00.0: Not Found":       {gpu.Opt[int]{}, "0000:01:00.0", "Not Found"},
		"Unable to determine the device handle for gpu 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU": {
			gpu.Opt[int]{}, "0000:3b:00.0", "GPU is lost.  Reboot the system to recover this GPU",
		},
		"Unable to determine the device handle for GPU2: Unknown Error":                                 {gpu.Some(2), "", "Unknown Error"},
		"Unable to determine the device handle for gpu 2: Unknown Error":                                {gpu.Some(2), "", "Unknown Error"},
		"Unable to determine the product name for gpu \xd6\x86x}: GPU is lost":                          {gpu.Opt[int]{}, "", "GPU is lost"},
		"Unable to determine the PCI bus id for the target device: GPU has fallen off the bus":          {gpu.Opt[int]{}, "", "GPU has fallen off the bus"},
		"Problem with GPU 2: GPU is lost.  Reboot the system to recover this GPU":                       {gpu.Some(2), "", "GPU is lost.  Reboot the system to recover this GPU"},
		"Unable to determine the device handle for GPU0":                                                {gpu.Some(0), "", ""},
		"Unable to determine the device handle for GPU10: 00000000:C1:00.0: GPU has fallen off the bus": {gpu.Some(10), "0000:c1:00.0", "GPU has fallen off the bus"},
	} {
		for _, exit := range []int{0, 255} {
			d := Diagnose([]byte(line+"\n0, 00000000:01:00.0, A\n"), nil, exit)
			assert.Equal(t, []Unreachable{want}, d.Unreachable, line)
			d = Diagnose([]byte("0, 00000000:01:00.0, A\n"), []byte(line+"\r\n"), exit)
			assert.Equal(t, []Unreachable{want}, d.Unreachable, line)
		}
		if want.Reason != "" {
			assert.Equal(t, gpu.FaultLost, want.Fault(), line)
		}
	}
	assert.Equal(t, gpu.FaultUnreachable, Unreachable{Reason: "Unable to communicate with GPU because it is insufficiently powered."}.Fault())
	assert.Equal(t, gpu.FaultUnreachable, Unreachable{}.Fault())
	assert.Equal(t, gpu.FaultResetRequired, Unreachable{Reason: "GPU requires reset"}.Fault())
	assert.Equal(t, gpu.FaultResetRequired, Unreachable{Reason: "A GPU reset must occur before this GPU can be used again."}.Fault())

	inside := Diagnose([]byte("<nvidia_smi_log>\n\t<gpu>\nUnable to determine the device handle for GPU1: 0000:44:00.0: Unknown Error\n</gpu></nvidia_smi_log>"), nil, 0)
	assert.Len(t, inside.Unreachable, 1)
}

// A GPU whose every call fails has no element of its own, only a message in its place.
func TestTrapErrorInAGPUsPlace(t *testing.T) {
	before, element, _ := strings.Cut(string(gpuXML("")), "<gpu ")
	element, after, _ := strings.Cut("<gpu "+element, "</nvidia_smi_log>")
	after = "</nvidia_smi_log>" + after
	for message, want := range map[string]gpu.Fault{
		"Unable to determine the PCI bus id for the target device: GPU is lost":        {Type: gpu.FaultLost, Message: "GPU is lost"},
		"Unable to determine the PCI bus id for the target device: GPU requires reset": {Type: gpu.FaultResetRequired, Message: "GPU requires reset"},
		"Unable to determine the device handle for GPU1: 0000:44:00.0: Unknown Error":  {Type: gpu.FaultLost, Message: "Unknown Error"},
	} {
		data := []byte(before + element + "\t<error_string>" + message + "</error_string>\n" + element + after)
		log, err := XML(data)
		require.NoError(t, err)
		assert.True(t, log.Complete)
		require.Len(t, log.GPUs, 3)
		d := log.GPUs[1].Device
		assert.Empty(t, d.ID)
		assert.Equal(t, []gpu.Fault{want}, d.Faults)
		assert.Equal(t, strings.Contains(message, "0000:44"), d.Info.PCIAddress == "0000:44:00.0")
		assert.Equal(t, strings.Contains(message, "GPU1"), d.Index == gpu.Some(1))
		assert.Empty(t, Diagnose(data, nil, 15).Unreachable, "it is told twice")
	}
	log, err := XML([]byte(before + element + "<error_string>something else</error_string>" + after))
	require.NoError(t, err)
	assert.Len(t, log.GPUs, 1)
}

func TestTrapRowWithoutIdentity(t *testing.T) {
	log, found := QueryGPU([]byte("index, uuid, pci.bus_id, memory.used [MiB], name\n0, GPU-a, 00000000:0A:00.0, 0 MiB, A\n"+
		"[GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]\n2, GPU-c, 00000000:10:00.0, 0 MiB, A\n"), nil)
	require.True(t, found)
	assert.True(t, log.Complete)
	require.Len(t, log.GPUs, 3)
	assert.Equal(t, gpu.Device{Vendor: gpu.NVIDIA, Faults: []gpu.Fault{{Type: gpu.FaultLost, Message: "GPU is lost"}}}, log.GPUs[1].Device)
}

func TestProcessesThatWereRead(t *testing.T) {
	for elements, want := range map[string]bool{
		"": false, "<processes></processes>": true, "<processes/>": true, "<processes>\n\t</processes>": true,
		"<processes><process_info><pid>1</pid></process_info></processes>": true,
		"<processes>N/A</processes>":                                       false, "<processes>Insufficient Permissions</processes>": false,
	} {
		assert.Equal(t, want, oneGPU(t, elements).ProcessesRead, elements)
	}
}

// Each flag of a GPU that is not well, in the place where the XML has it.
func TestXMLFaults(t *testing.T) {
	for elements, want := range map[string]gpu.FaultType{
		"<ecc_errors><unrepairable_memory>Yes</unrepairable_memory></ecc_errors>":                             gpu.FaultRemapFailed,
		"<ecc_errors><channel_repair_pending>Yes</channel_repair_pending></ecc_errors>":                       gpu.FaultRemapPending,
		"<retired_pages><pending_blacklist>Yes</pending_blacklist></retired_pages>":                           gpu.FaultRemapPending,
		"<retired_pages><pending_retirement>Yes</pending_retirement></retired_pages>":                         gpu.FaultRemapPending,
		"<remapped_rows><remapped_row_pending>Yes</remapped_row_pending></remapped_rows>":                     gpu.FaultRemapPending,
		"<remapped_rows><remapped_row_failure>Yes</remapped_row_failure></remapped_rows>":                     gpu.FaultRemapFailed,
		"<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>":                           gpu.FaultResetRequired,
		"<gpu_reset_status><drain_and_reset_recommended>Yes</drain_and_reset_recommended></gpu_reset_status>": gpu.FaultDrain,
	} {
		d := oneGPU(t, elements).Device
		if assert.Len(t, d.Faults, 1, elements) {
			assert.Equal(t, want, d.Faults[0].Type, elements)
		}
		assert.Empty(t, oneGPU(t, strings.ReplaceAll(elements, "Yes", "No")).Device.Faults, elements)
	}
}

// What one MIG device or process does not tell is not that of the one before.
func TestXMLPartsApart(t *testing.T) {
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

// Where an element is missing that says the same, the other is taken.
func TestXMLSecondBest(t *testing.T) {
	at := func(attribute, element string) string {
		log, err := XML([]byte("<nvidia_smi_log><gpu" + attribute + ">" + element + "</gpu></nvidia_smi_log>"))
		require.NoError(t, err)
		require.Len(t, log.GPUs, 1)
		return log.GPUs[0].Device.Info.PCIAddress
	}
	assert.Equal(t, "0000:1a:00.0", at(` id="00000000:1A:00.0"`, ""))
	assert.Equal(t, "0000:1b:00.0", at("", "<pci><pci_bus_id>00000000:1B:00.0</pci_bus_id></pci>"))

	for element, want := range map[string]float64{
		"<power_limit>300.00 W</power_limit>":                                                                        300,
		"<requested_power_limit>300.00 W</requested_power_limit>":                                                    300,
		"<power_limit>300.00 W</power_limit><enforced_power_limit>250.00 W</enforced_power_limit>":                   250,
		"<current_power_limit>250.00 W</current_power_limit><requested_power_limit>300.00 W</requested_power_limit>": 250,
	} {
		g := oneGPU(t, "<gpu_power_readings>"+element+"</gpu_power_readings>")
		assert.Equal(t, gpu.Some(want), g.Device.Power.Limit[gpu.LimitMax], element)
	}
}

// The parts of a count of errors are added up, unless one of them could not be read.
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
