// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Output of the real tools on a simulated driver: 5.2.3 and 6.1.2 of the distributions.
func TestRealOutput(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"5.2.3", "6.1.2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var unknown []string
			if version == "5.2.3" {
				unknown = []string{"--showcomputepartition"}
			}
			tool := smitest.ROCmTool(smitest.Fixture(t, "rocm-smi-"+version+".json"), smitest.Fixture(t, "rocm-smi-"+version+".txt"), unknown...)
			node := smitest.Read(t, newTestSource(tool))
			require.Empty(t, smitest.Problems(node))
			require.Equal(t, []string{"5d1f00aa77c3e9b4", "02bb3344556677c1"}, smitest.IDs(node))
			smitest.RequireValue(t, 2, node.Presence[gpu.Visible], "visible")
			smitest.RequireValue(t, 0, node.Presence[gpu.Missing], "missing")

			d := smitest.Device(t, node, "5d1f00aa77c3e9b4")
			assert.Equal(t, "gpu0", d.Name)
			assert.Empty(t, d.Model, "the vendor's number is no model")
			assert.Equal(t, gpu.AMD, d.Vendor)
			smitest.RequireValue(t, 0, d.Index, "index")
			assert.Equal(t, "PCB034-0042", d.Info.Serial)
			assert.Equal(t, "6.1.2", d.Info.DriverVersion)
			assert.Equal(t, "113-D67301-063", d.Info.FirmwareVersion)
			assert.Equal(t, "0000:03:00.0", d.Info.PCIAddress)
			smitest.RequireValue(t, int64(1), d.Info.NUMANode, "NUMA node")
			smitest.RequireNear(t, 0.63, d.Utilization[gpu.TaskGeneral], "utilization")
			smitest.RequireNear(t, 0.41, d.MemoryController, "memory controller")
			smitest.RequireValue(t, int64(68702699520), d.Memory.Limit, "memory limit")
			smitest.RequireValue(t, int64(51234567168), d.Memory.Usage, "memory usage")
			smitest.RequireNear(t, 64, d.Temperature[gpu.SensorEdge], "edge")
			smitest.RequireNear(t, 71, d.Temperature[gpu.SensorHotspot], "hotspot")
			smitest.RequireNear(t, 58, d.Temperature[gpu.SensorMemory], "memory")
			assert.False(t, d.Temperature[gpu.SensorGPU].Known())
			smitest.RequireNear(t, 412.5, d.Power.Draw, "power")
			assert.False(t, d.Power.Instant.Known())
			smitest.RequireNear(t, 560, d.Power.Limit[gpu.LimitEnforced], "power cap")
			assert.False(t, d.Power.Limit[gpu.LimitDegraded].Known())
			smitest.RequireValue(t, int64(206141652992), d.Memory.VisibleLimit, "visible limit")
			smitest.RequireValue(t, int64(1000), d.Memory.VisibleUsage, "visible usage")
			smitest.RequireValue(t, int64(16000000000), d.Memory.SystemLimit, "GTT")
			smitest.RequireValue(t, int64(1000000), d.Memory.SystemUsage, "GTT used")
			assert.False(t, d.ProcessesUnread)
			joules, ok := d.Energy.Get()
			require.Equal(t, version == "6.1.2", ok, "5.2.3 does not tell the target, by which the unit is known")
			if ok {
				require.InDelta(t, 78098902.29747205, joules, 1e-6)
			}
			smitest.RequireNear(t, 1.7e9, d.Clocks[gpu.ClockGraphics].Speed, "graphics clock")
			smitest.RequireNear(t, 1.6e9, d.Clocks[gpu.ClockMemory].Speed, "memory clock")
			smitest.RequireValue(t, int64(4), d.PCIe.Generation, "PCIe generation")
			smitest.RequireValue(t, int64(16), d.PCIe.Width, "PCIe width")
			require.Len(t, d.Fans, 1)
			smitest.RequireNear(t, 0.5, d.Fans[0].Ratio, "fan")
			smitest.RequireValue(t, int64(1200), d.Fans[0].Speed, "fan")
			require.Len(t, d.TemperatureDetail, 4)
			assert.Equal(t, gpu.SensorValue{Location: "hbm3", Value: gpu.Some(53.0)}, d.TemperatureDetail[3])
			// The file of the simulated driver says ce: 31, ue: 2; the headings of 5.2.3 are the wrong way round.
			counts := smitest.ErrorCounts(d)
			assert.Equal(t, int64(31), counts["umc corrected"])
			assert.Equal(t, int64(2), counts["umc uncorrected"])
			assert.Equal(t, int64(5), counts["gfx corrected"])
			assert.Equal(t, int64(0), counts["gfx uncorrected"])
			assert.Equal(t, gpu.Total[int64](12), d.PCIe.Replays)
			assert.NotContains(t, counts, "athub corrected", "a block that counts nothing")
			assert.Len(t, counts, 14)

			o := smitest.Device(t, node, "02bb3344556677c1")
			assert.Empty(t, o.Info.Serial)
			assert.False(t, o.Info.NUMANode.Known(), "-1, or 4294967295")
			assert.False(t, o.Temperature[gpu.SensorMemory].Known())
			assert.False(t, o.Energy.Known())
			assert.Empty(t, o.Fans)
			assert.Empty(t, o.TemperatureDetail)
			assert.Empty(t, o.Voltage)
			smitest.RequireNear(t, 0, o.Utilization[gpu.TaskGeneral], "utilization")
			smitest.RequireValue(t, int64(3), o.PCIe.Generation, "PCIe generation")
			smitest.RequireValue(t, int64(8), o.PCIe.Width, "PCIe width")
			assert.Empty(t, o.Errors)
			assert.Equal(t, gpu.Total[int64](0), o.PCIe.Replays)

			if version == "6.1.2" {
				assert.Equal(t, "SPX", d.Info.Profile)
				assert.Equal(t, "gfx90a", d.Info.ComputeCapability, "printed as gfx9010")
				assert.Equal(t, "gfx908", o.Info.ComputeCapability, "printed as gfx9008")
			}
			// One process uses both; rocm-smi prints the sum of its memory.
			require.Len(t, node.Processes, 2)
			for i, id := range []string{"02bb3344556677c1", "5d1f00aa77c3e9b4"} {
				p := node.Processes[i]
				assert.Equal(t, int64(31337), p.PID)
				assert.Equal(t, id, p.DeviceID)
				assert.Equal(t, gpu.ProcessCompute, p.Type)
				assert.False(t, p.Memory.Known())
			}
		})
	}
}

func TestAsksOnceForWhatIsRefused(t *testing.T) {
	t.Parallel()
	tool := smitest.ROCmTool(smitest.Fixture(t, "rocm-smi-5.2.3.json"), smitest.Fixture(t, "rocm-smi-5.2.3.txt"), "--showcomputepartition", "--showtoponuma")
	s := newTestSource(tool)
	smitest.Read(t, s)
	require.Len(t, tool.Runs, 2)
	require.Len(t, tool.Runs[0], 2, "all commands of a read in one call")
	assert.Contains(t, tool.Runs[0][0], "--showcomputepartition")
	assert.NotContains(t, tool.Runs[1][0], "--showcomputepartition")
	assert.NotContains(t, tool.Runs[1][0], "--showtoponuma")
	assert.Contains(t, tool.Runs[1][0], "--showenergycounter")
	assert.Equal(t, "--showrasinfo all --showpidgpus --showpids", tool.Runs[1][1])
	for range forgetAfter - 1 {
		smitest.Read(t, s)
	}
	require.Len(t, tool.Runs, forgetAfter+1, "one call per read")
	smitest.Read(t, s)
	assert.Contains(t, tool.Runs[forgetAfter+1][0], "--showcomputepartition", "it may have been replaced by a newer one")
}

func TestAsksOnlyForWhatIsWanted(t *testing.T) {
	t.Parallel()
	tool := smitest.ROCmTool(`{"card0": {"PCI Bus": "0000:03:00.0", "GPU use (%)": "1"}}`, "")
	s := New(&Config{}, tool, gpu.GroupUtilization)
	smitest.Read(t, s)
	require.Equal(t, [][]string{{"--json --showuniqueid --showbus --showproductname --showserial --showvbios --showdriverversion " +
		"--showuse --showmemuse --showtoponuma --showcomputepartition --showmemorypartition"}}, tool.Runs)
	assert.True(t, s.build.Node.Devices[0].ProcessesUnread)
}

// 6.2 ends with an exception if the driver does not report the size of VRAM.
func TestException(t *testing.T) {
	t.Parallel()
	tool := &smitest.Tool{}
	tool.Answer = func(args string) (command.Result, error) {
		if strings.Contains(args, "--showmemuse") {
			return smitest.Fails(1, "", "Traceback (most recent call last):\n  File \"rocm-smi\", line 4020\nValueError: invalid literal for int(): 'N/A'\n")
		}
		return smitest.Prints(`{"card0": {"PCI Bus": "0000:03:00.0", "GPU use (%)": "17"}}`)
	}
	node := smitest.Read(t, newTestSource(tool))
	require.Len(t, node.Devices, 1)
	smitest.RequireNear(t, 0.17, node.Devices[0].Utilization[gpu.TaskGeneral], "utilization")
	require.Len(t, tool.Runs, 2)
}

// The library of 5.2.3 aborts on a count of deferred errors. The text that was not written yet is lost.
func TestAborts(t *testing.T) {
	t.Parallel()
	tool := &smitest.Tool{}
	tool.Answer = func(args string) (command.Result, error) {
		switch {
		case strings.HasPrefix(args, "--json"):
			return smitest.Prints(`{"card0": {"PCI Bus": "0000:03:00.0"}, "system": {"PID7": "a, 1, 4096, 0, 1"}}`)
		case strings.Contains(args, "--showrasinfo"):
			return smitest.Fails(-1, "", "rocm_smi.cc:647: rsmi_dev_ecc_count_get: Assertion `val_vec.size() == 2' failed.\n")
		}
		return smitest.Prints("=== GPUs Indexed by PID ===\nPID 7 is using 1 DRM device(s):\n0 \n=== End of ROCm SMI Log ===\n")
	}
	s := newTestSource(tool)
	for range 3 {
		node := smitest.Read(t, s)
		require.Len(t, node.Processes, 1)
		assert.Contains(t, smitest.Problems(node), "errors: rocm_smi: this rocm-smi does not show RAS counts, or crashes")
	}
	require.Len(t, tool.Runs, 4, "one more for the first read")
	assert.Equal(t, []string{"--showpidgpus --showpids"}, tool.Runs[1])
}
