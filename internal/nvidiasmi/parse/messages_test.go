// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every message with an exit code that says nothing, and every exit code without a message.
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
