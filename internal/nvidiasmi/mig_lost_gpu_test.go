// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestMIGGPUIsLost(t *testing.T) {
	f := migTool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	index := strings.Index(f.xml.stdout, "\t<gpu id=\"00000000:07:00.0\">")
	end := strings.Index(f.xml.stdout, "</gpu>\n") + len("</gpu>\n")
	f.xml.stdout = "Unable to determine the device handle for GPU0: 0000:07:00.0: Unknown Error\n" + f.xml.stdout[:index] + f.xml.stdout[end:]
	f.list.stdout = "Unable to determine the device handle for GPU0: 0000:07:00.0: Unknown Error\nGPU 1: A100 (UUID: " + a100Plain + ")\n"
	node := read(t, r)
	for _, id := range []string{a100MIG, migBig, migSmall} {
		assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, id)), id)
	}
	assert.Equal(t, counts(1, 1), presence(node))
	assert.Equal(t, gpu.Some(1), deviceOf(t, node, a100Plain).Index)
}

// A lost GPU is listed without values: its MIG devices are still in the node, and failed as the GPU is.
func TestMIGGPUIsListedAsLost(t *testing.T) {
	f := migTool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	start, end := strings.Index(f.xml.stdout, "<mig_devices>"), strings.Index(f.xml.stdout, "</mig_devices>")
	f.xml.stdout = f.xml.stdout[:start] + "<mig_devices>\nGPU is lost\n" + f.xml.stdout[end:]
	f.xml.stdout = strings.Replace(strings.Replace(f.xml.stdout, "Enabled", "GPU is lost", 2), "95.11 W", "GPU is lost", 1)
	for range 2 {
		node := read(t, r)
		require.Equal(t, []string{a100MIG, migBig, migSmall, a100Plain}, ids(node))
		for _, id := range []string{migBig, migSmall} {
			d := deviceOf(t, node, id)
			assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(d))
			assert.True(t, d.ProcessesUnread, "processes are reported as ended")
			assert.Equal(t, gpu.Memory{}, d.Memory)
		}
	}
}

func TestMIGDeviceResetRequired(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<reset_required>No", "<reset_required>Yes", 1)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []gpu.FaultType{gpu.FaultResetRequired}, faults(deviceOf(t, node, migBig)))
}

// MIG is disabled on a GPU when it starts to fail: its processes are its own, and it has no MIG device.
func TestMIGIsDisabledOnAFailedGPU(t *testing.T) {
	f := migTool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	start, end := strings.Index(f.xml.stdout, "<mig_devices>"), strings.Index(f.xml.stdout, "</mig_devices>")
	f.xml.stdout = f.xml.stdout[:start] + "<mig_devices>\nNone\n" + f.xml.stdout[end:]
	f.xml.stdout = strings.Replace(strings.Replace(f.xml.stdout, "Enabled", "Disabled", 2), "95.11 W", "GPU is lost", 1)
	f.list.stdout = "GPU 0: A100 (UUID: " + a100MIG + ")\nGPU 1: A100 (UUID: " + a100Plain + ")\n"
	node := read(t, r)
	assert.Equal(t, []string{a100MIG, a100Plain}, ids(node))
	assert.Equal(t, gpu.StateFailed, node.Devices[0].State())
}
