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

// A GPU whose calls all fail has a message in the place of its element.
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
		assert.Empty(t, Diagnose(data, nil, 15).Unreachable, "it is reported twice")
	}
	log, err := XML([]byte(before + element + "<error_string>something else</error_string>" + after))
	require.NoError(t, err)
	assert.Len(t, log.GPUs, 1)
}
