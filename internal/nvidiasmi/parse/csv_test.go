// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestTrapNoQuotingInTables(t *testing.T) {
	g := oneRow(t, "name, index, power.draw [W]", "NVIDIA A100, PCIe, 40GB, 3, 61.20 W")
	assert.Equal(t, "NVIDIA A100, PCIe, 40GB", g.Device.Model)
	assert.Equal(t, gpu.Some(3), g.Device.Index)
	assert.Equal(t, gpu.Some(61.2), g.Device.Power.Draw)

	apps, _, dropped := ComputeApps([]byte("pid, process_name, used_gpu_memory [MiB]\n7, /a, b, c/d, e, 5 MiB\n"), nil)
	assert.Zero(t, dropped)
	require.Len(t, apps, 1)
	assert.Equal(t, "/a, b, c/d, e", apps[0].Name)
	assert.Equal(t, gpu.Some(int64(5<<20)), apps[0].Memory)
}

func TestTrapHeadingHasTheCanonicalName(t *testing.T) {
	log, _ := QueryGPU([]byte("clocks.current.sm [MHz], clocks.current.graphics [MHz]\n1500 MHz, 1600 MHz\n"), []string{"clocks.sm", "clocks.gr"})
	require.Len(t, log.GPUs, 1)
	assert.Equal(t, gpu.Some(1.5e9), log.GPUs[0].Device.Clocks[gpu.ClockSM].Speed)
	assert.Equal(t, gpu.Some(1.6e9), log.GPUs[0].Device.Clocks[gpu.ClockGraphics].Speed)

	apps, _, _ := ComputeApps([]byte("pid, used_gpu_memory [MiB]\n7, 5 MiB\n"), []string{"pid", "used_memory"})
	require.Len(t, apps, 1)
	assert.Equal(t, gpu.Some(int64(5<<20)), apps[0].Memory)

	// An unknown name represents the column that was queried at its place.
	log, _ = QueryGPU([]byte("index, heat.of.gpu [C], uuid\n0, 50, GPU-1\n"), []string{"index", "temperature.gpu", "uuid"})
	require.Len(t, log.GPUs, 1)
	assert.Equal(t, gpu.Some(50.0), log.GPUs[0].Device.Temperature[gpu.SensorGPU])
}

func TestTableEdges(t *testing.T) {
	for name, tt := range map[string]struct {
		text    string
		fields  []string
		found   bool
		gpus    int
		dropped int
	}{
		"empty":             {"", nil, false, 0, 0},
		"heading only":      {"index, uuid\n", nil, true, 0, 0},
		"no heading, asked": {"0, GPU-1\n", []string{"index", "uuid"}, true, 1, 0},
		"no heading":        {"0, GPU-1\n", nil, false, 0, 1},
		"too few cells":     {"index, uuid, name\n0, GPU-1\n", nil, true, 0, 1},
		"too many cells":    {"index, uuid\n0, GPU-1, 7\n", nil, true, 0, 1},
		"cut off":           {"index, uuid, memory.used [MiB]\n0, GPU-1, 5 MiB\n1, GPU-2, ", nil, true, 2, 0},
		"no space":          {"index,uuid\n0,GPU-1\n", nil, true, 1, 0},
		"empty last cell":   {"index, serial, compute_mode\n0, 7,\n", nil, true, 1, 0},
		"two headings":      {"index, uuid\n0, GPU-1\nindex, uuid\n0, GPU-1\n", nil, true, 2, 0},
		"shell's complaint": {"sh: nvidia-smi: not found\n", []string{"index", "uuid"}, false, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			log, found := QueryGPU([]byte(tt.text), tt.fields)
			assert.Equal(t, tt.found, found)
			assert.Len(t, log.GPUs, tt.gpus)
			assert.Equal(t, tt.dropped, log.Dropped)
			assert.Equal(t, tt.found && tt.dropped == 0, log.Complete)
		})
	}
}
