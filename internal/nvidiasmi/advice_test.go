// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// On Windows no message speaks of what only Linux has.
func TestAdviceOnWindows(t *testing.T) {
	f := &tool{xml: file(t, "xml/v13-591-wddm.xml"), list: answer{stdout: "GPU 0: x (UUID: GPU-x)\n"}}
	healthy := f.xml
	r := newReader(t, QueryFull, f, newClock())
	r.queries.advice = adviceFor("windows")
	node := read(t, r)
	for i := range node.Devices {
		assert.Empty(t, node.Devices[i].Name, "there is no device node")
	}
	var said []string
	for _, a := range []answer{
		{stdout: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", exit: 9},
		{stdout: "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", exit: 12},
		{stdout: "Failed to initialize NVML: Insufficient Permissions\n", exit: 4},
		{stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255},
		{stdout: "No devices were found\n", exit: 6},
		{stdout: strings.ReplaceAll(healthy.stdout, " C</gpu_temp>", "?</gpu_temp>")},
		{stdout: strings.Replace(healthy.stdout, "<fan_speed>", "<fan_speed>[Insufficient Permissions]", 1)},
		{stdout: "<nvidia_smi_log><driver_version>600.1</driver_version><gpu id=\"00000000:7F:00.0\"><uuid>GPU-other</uuid></gpu></nvidia_smi_log>"},
	} {
		f.xml = a
		node := read(t, r)
		before := len(said)
		for _, p := range node.Problems {
			said = append(said, p.Err.Error())
		}
		for i := range node.Devices {
			for _, fault := range node.Devices[i].Faults {
				said = append(said, fault.Message)
			}
		}
		assert.Greater(t, len(said), before, a.stdout)
	}
	all := strings.Join(said, "\n")
	for _, word := range []string{"kernel", "modprobe", "lspci", "/dev/", ".so.1", "systemd", "root", "CAP_"} {
		assert.NotContains(t, all, word)
	}
	assert.Contains(t, all, "Event Viewer")
	assert.Contains(t, all, "administrator")
	assert.Equal(t, gpu.NVIDIA, node.Vendor)
}
