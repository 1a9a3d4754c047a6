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

// A lost GPU that is listed, with no more than that it is lost: its MIG devices are still there, and failed as it is.
func TestMIGGPUIsListedAsLost(t *testing.T) {
	f := migTool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	from, to := strings.Index(f.xml.stdout, "<mig_devices>"), strings.Index(f.xml.stdout, "</mig_devices>")
	f.xml.stdout = f.xml.stdout[:from] + "<mig_devices>\nGPU is lost\n" + f.xml.stdout[to:]
	f.xml.stdout = strings.Replace(strings.Replace(f.xml.stdout, "Enabled", "GPU is lost", 2), "95.11 W", "GPU is lost", 1)
	for range 2 {
		node := read(t, r)
		require.Equal(t, []string{a100MIG, migBig, migSmall, a100Plain}, ids(node))
		for _, id := range []string{migBig, migSmall} {
			d := deviceOf(t, node, id)
			assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(d))
			assert.True(t, d.ProcessesUnread, "a process is not told to have ended")
			assert.Equal(t, gpu.Memory{}, d.Memory)
		}
	}
}

// Processes that could not be read were not read on the MIG devices, either.
func TestProcessesUnreadOnMIGDevices(t *testing.T) {
	f := migTool(t)
	assert.False(t, deviceOf(t, read(t, newReader(t, QueryFull, f, newClock())), migBig).ProcessesUnread)
	from, to := strings.Index(f.xml.stdout, "<processes>"), strings.Index(f.xml.stdout, "</processes>")
	f.xml.stdout = f.xml.stdout[:from] + "<processes>Insufficient Permissions" + f.xml.stdout[to:]
	f.pmon = answer{stdout: "garbage"}
	assert.True(t, deviceOf(t, read(t, newReader(t, QueryFull, f, newClock())), migBig).ProcessesUnread)
}

// Two compute instances of one GPU instance are told apart by their own numbers.
func TestComputeInstanceIsWhatItWasWhenAnotherIsLeftOut(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<gpu_instance_id>5</gpu_instance_id>\n\t\t\t\t<compute_instance_id>0<",
		"<gpu_instance_id>1</gpu_instance_id>\n\t\t\t\t<compute_instance_id>1<", 1)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	first := strings.Index(f.xml.stdout, "<mig_device>")
	second := first + strings.Index(f.xml.stdout[first:], "</mig_device>") + len("</mig_device>")
	f.xml.stdout = f.xml.stdout[:first] + f.xml.stdout[second:]
	assert.Equal(t, []string{a100MIG, migSmall, a100Plain}, ids(read(t, r)))
}
