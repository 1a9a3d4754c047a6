// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// readTool reads a simulated machine by the real tool, with both queries.
func readTool(t *testing.T, scenario string, check func(t *testing.T, node *gpu.Node)) nvmlsim.Library {
	t.Helper()
	library, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	real := newTool(t, library.Dir)
	nvmlsim.Use(t, scenario)
	for _, query := range []string{nvidiasmi.QueryFull, nvidiasmi.QueryFast} {
		t.Run(query, func(t *testing.T) {
			tool := nvidiasmi.New(nvidiasmi.Config{Query: query}, real, gpu.GroupAll)
			t.Cleanup(func() { require.NoError(t, tool.Close()) })
			node, err := tool.Read(t.Context())
			require.NoError(t, err)
			check(t, node)
		})
	}
	return library
}

// readBoth reads it by NVML as well.
func readBoth(t *testing.T, scenario string, check func(t *testing.T, node *gpu.Node)) {
	t.Helper()
	config := nvml.DefaultConfig()
	config.LibraryPath = readTool(t, scenario, check).Full
	t.Run("nvml", func(t *testing.T) {
		ours := nvml.New(&config, gpu.GroupAll, nvml.WithSysRoot(t.TempDir()), nvml.WithProcRoot(t.TempDir()))
		t.Cleanup(func() { require.NoError(t, ours.Close()) })
		node, err := ours.Read(t.Context())
		require.NoError(t, err)
		check(t, node)
	})
}

// TestToolWithoutValues: if a driver marks a value as unsupported, it is absent in both sources, for every format of the tool.
func TestToolWithoutValues(t *testing.T) {
	const mark = " = raw(0xFFFFFFFF)\n"
	readBoth(t, "gpus = 1\n[gpu *]\nboard = h100\npstate = raw(32)\n"+
		"util.gpu"+mark+"util.memory"+mark+"util.encoder"+mark+"util.decoder"+mark+"util.jpeg"+mark+"util.ofa"+mark+
		"temperature"+mark+"temperature.memory"+mark+"fan"+mark+"clock.sm"+mark+"clock.max.sm"+mark+
		"remapped.corrected"+mark+"remapped.uncorrected"+mark+"retired.sbe"+mark+"retired.dbe"+mark+"pcie.replay"+mark+
		"pcie.generation = 0\npcie.width = 0\npcie.width.max"+mark+
		"threshold.shutdown = 0\nthreshold.slowdown = 0\nthreshold.memory_max = 0\nthreshold.gpu_max = 0\n",
		func(t *testing.T, node *gpu.Node) {
			assert.Empty(t, node.Problems)
			require.Len(t, node.Devices, 1)
			d := &node.Devices[0]
			assert.Empty(t, d.Utilization)
			assert.Empty(t, d.MemoryController)
			assert.Empty(t, d.Temperature)
			assert.Empty(t, d.TemperatureLimit)
			assert.Empty(t, d.Fans)
			assert.Empty(t, d.Clocks[gpu.ClockSM])
			assert.Empty(t, d.RemappedRows.Corrected)
			assert.Empty(t, d.RemappedRows.Uncorrected)
			assert.Empty(t, d.RetiredPages)
			assert.Empty(t, d.PCIe.Generation)
			assert.Empty(t, d.PCIe.Width)
			assert.Empty(t, d.PCIe.WidthLimit)
			assert.Empty(t, d.PerformanceState)
			assert.Empty(t, d.PCIe.Replays)
			assert.True(t, d.Power.Draw.Known(), "the rest is read")
		})
}

// TestToolCannotNameProcesses: processes are present without their names, and the values that pmon then omits are reported.
func TestToolCannotNameProcesses(t *testing.T) {
	readTool(t, "gpus = 2\n[gpu *]\nboard = h100\n[process a]\ngpu = *\npid = 4242\nmemory = 500Mi\n[fault names]\nfunction = nvmlSystemGetProcessName\nreturn = NOT_FOUND\n",
		func(t *testing.T, node *gpu.Node) {
			require.Len(t, node.Problems, 1)
			require.ErrorContains(t, node.Problems[0].Err, "the name of a process is unreadable on 2 of 2 GPUs")
			require.Len(t, node.Processes, 2)
			for _, p := range node.Processes {
				assert.Equal(t, int64(4242), p.PID)
				assert.Equal(t, gpu.Some(int64(500<<20)), p.Memory)
				assert.Empty(t, p.Executable)
			}
		})
}
