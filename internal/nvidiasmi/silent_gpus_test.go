// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// silentTool prints a table of GPUs with N/A in the place of every value that is not given.
func silentTool(t *testing.T, gpus ...map[string]string) *tool {
	t.Helper()
	f := tableTool(t, allNames())
	f.table = func(fields []string) answer {
		lines := []string{strings.Join(fields, ", ")}
		for _, values := range gpus {
			cells := make([]string, len(fields))
			for i, field := range fields {
				if cells[i] = values[field]; cells[i] == "" {
					cells[i] = "[N/A]"
				}
			}
			lines = append(lines, strings.Join(cells, ", "))
		}
		return answer{stdout: strings.Join(lines, "\n") + "\n"}
	}
	return f
}

// A board on the PCI bus has a memory, and so its size. The GPU of a Jetson may have no reading at all.
func TestSilentGPU(t *testing.T) {
	const (
		model = "NVIDIA GeForce RTX 3070"
		orin  = "0dea0000-1111-5222-8333-444455556666"
	)
	first := map[string]string{
		"index": "0", "uuid": "GPU-a", "name": model, "pci.bus_id": "00000000:01:00.0", "driver_version": "535.183.01", "count": "2",
		"memory.total": "8192 MiB", "memory.used": "10 MiB", "temperature.gpu": "40",
	}
	second := map[string]string{"index": "1", "uuid": "GPU-b", "name": model, "pci.bus_id": "00000000:02:00.0", "driver_version": "535.183.01", "count": "2"}
	f := silentTool(t, first, second)
	node := read(t, newReader(t, QueryFast, f, newClock()))
	assert.Nil(t, node.Failure)
	assert.Equal(t, counts(1, 1), presence(node))
	assert.Equal(t, gpu.StateOK, deviceOf(t, node, "GPU-a").State())
	d := deviceOf(t, node, "GPU-b")
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(d))
	assert.Equal(t, model, d.Model)
	assert.True(t, d.ProcessesUnread)

	for name, healthy := range map[string]map[string]string{
		"Jetson":                   {"index": "0", "uuid": orin, "name": "Orin (nvgpu)", "driver_version": "540.4.0", "count": "1"},
		"Jetson on a bus":          {"index": "0", "uuid": orin, "name": "NVIDIA Thor", "pci.bus_id": "00000000:01:00.0", "driver_version": "580.00", "count": "1"},
		"board with a memory size": {"index": "0", "uuid": orin, "name": model, "pci.bus_id": "00000000:01:00.0", "memory.total": "8192 MiB", "count": "1"},
	} {
		node := read(t, newReader(t, QueryFast, silentTool(t, healthy), newClock()))
		assert.Equal(t, gpu.StateOK, deviceOf(t, node, orin).State(), name)
		assert.Equal(t, counts(1, 0), presence(node), name)
	}
}

// A GPU that had readings and has no readings any more has failed, also the GPU of a Jetson.
func TestSilentGPUThatHadReadings(t *testing.T) {
	const thor = "0dea0000-1111-5222-8333-444455556666"
	values := map[string]string{"index": "0", "uuid": thor, "name": "NVIDIA Thor", "driver_version": "580.00", "count": "1", "temperature.gpu": "40"}
	r := newReader(t, QueryFast, silentTool(t, values), newClock())
	assert.Equal(t, gpu.StateOK, deviceOf(t, read(t, r), thor).State())
	delete(values, "temperature.gpu")
	for range 2 {
		assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(deviceOf(t, read(t, r), thor)))
	}
	values["temperature.gpu"] = "41"
	assert.Equal(t, gpu.StateOK, deviceOf(t, read(t, r), thor).State())
}
