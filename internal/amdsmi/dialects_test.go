// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Output of the real tool of ROCm 6.1 on a simulated driver without DRM devices: it does not know the PCI addresses, prints uninitialised
// memory instead, and prints the unique id in decimal digits.
func TestRealOutput(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-24.5.2", "-e", "--throttle")
	files := tool.Answer
	tool.Answer = func(args string) (command.Result, error) {
		switch {
		case strings.HasPrefix(args, "process"):
			return smitest.Fails(1, "", "Traceback (most recent call last):\nPermissionError: Command requires elevation\n")
		case strings.HasPrefix(args, "list -e"):
			return files(args)
		}
		return files(strings.Replace(args, " -e", "", 1)) // refused of list only
	}
	node := smitest.Read(t, newTestSource(tool))
	// unique_id was 5d1f00aa77c3e9b4 and 02bb3344556677c1.
	require.Equal(t, []string{"5d1f00aa77c3e9b4", "02bb3344556677c1"}, smitest.IDs(node))
	d := &node.Devices[0]
	assert.Empty(t, d.Info.PCIAddress)
	assert.Equal(t, "gpu0", d.Name)
	assert.Equal(t, "PCB034-0042", d.Info.Serial)
	assert.Equal(t, "113-D67301-063", d.Info.FirmwareVersion)
	assert.Empty(t, d.Info.DriverVersion)
	assert.Equal(t, "SPX", d.Info.Profile)
	assert.Equal(t, "NPS1", d.Info.MemoryPartition)
	smitest.RequireValue(t, int64(1), d.Info.NUMANode, "NUMA node")
	smitest.RequireNear(t, 0.33, d.Utilization[gpu.TaskGeneral], "utilization")
	smitest.RequireNear(t, 0.12, d.MemoryController, "controller")
	smitest.RequireValue(t, int64(68702699520), d.Memory.Limit, "limit")
	smitest.RequireValue(t, int64(51234567168/(1<<20))<<20, d.Memory.Usage, "usage, whole MiB")
	smitest.RequireNear(t, 64, d.Temperature[gpu.SensorEdge], "edge")
	smitest.RequireNear(t, 71, d.Temperature[gpu.SensorHotspot], "hotspot")
	smitest.RequireNear(t, 58, d.Temperature[gpu.SensorMemory], "memory")
	smitest.RequireNear(t, 100, d.TemperatureLimit[gpu.SensorEdge][gpu.LimitDegraded], "edge slowdown")
	smitest.RequireNear(t, 105, d.TemperatureLimit[gpu.SensorEdge][gpu.LimitCritical], "edge shutdown")
	smitest.RequireNear(t, 110, d.TemperatureLimit[gpu.SensorMemory][gpu.LimitCritical], "memory shutdown")
	smitest.RequireNear(t, 560, d.Power.Limit[gpu.LimitEnforced], "cap")
	smitest.RequireNear(t, 750, d.Power.Limit[gpu.LimitMax], "highest cap")
	assert.False(t, d.Power.Draw.Known())
	assert.True(t, d.ProcessesUnread)
	smitest.RequireValue(t, int64(196592<<20), d.Memory.VisibleLimit, "visible")
	smitest.RequireValue(t, int64(15258<<20), d.Memory.SystemLimit, "GTT")
	smitest.RequireValue(t, int64(0), d.Memory.SystemUsage, "GTT used")
	smitest.RequireNear(t, 1501e6, d.Clocks[gpu.ClockGraphics].Speed, "graphics")
	smitest.RequireNear(t, 901e6, d.Clocks[gpu.ClockMemory].Speed, "memory clock")
	smitest.RequireNear(t, 801e6, d.Clocks[gpu.ClockVideo].Speed, "video")
	require.Len(t, d.Fans, 1)
	smitest.RequireNear(t, 0.502, d.Fans[0].Ratio, "fan")
	assert.False(t, d.Energy.Known(), "neither target nor model tells its unit")
	assert.Empty(t, d.Errors)
	for _, l := range d.Throttle {
		assert.False(t, l.Active.Known(), "UNTHROTTLED of a target that is not known")
	}
	all := smitest.Problems(node)
	assert.Contains(t, all, "process: amd_smi: amd-smi process: not permitted; run the tool as a member of the groups render and video")
	assert.Contains(t, all, "shows no PCI address of 2 GPUs")
	assert.Len(t, node.Problems, 2)
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	node := smitest.Read(t, newTestSource(smitest.AMDTool(t, "amd-smi-7.0-dpx")))
	const id = "8f1457e2c20f59d2"
	require.Equal(t, []string{id, id + "/0", id + "/1"}, smitest.IDs(node))
	smitest.RequireValue(t, int64(1), node.Presence[gpu.Visible], "visible")

	d := smitest.Device(t, node, id)
	assert.Equal(t, "card1", d.Name)
	assert.Equal(t, []string{"card1", "renderD128"}, d.Aliases)
	assert.Equal(t, []string{"card1", "renderD128", "0000:05:00.0"}, node.Devices[1].Aliases)
	assert.Equal(t, []string{"card2", "renderD129"}, node.Devices[2].Aliases)
	assert.Equal(t, "AMD Instinct MI300X", d.Model)
	assert.False(t, d.ProcessesUnread)
	assert.Equal(t, gpu.Info{
		Serial: "692347006052", DriverVersion: "6.8.0-79-generic", FirmwareVersion: "113-M3000100-103",
		PCIAddress: "0000:05:00.0", ComputeCapability: "gfx942", NUMANode: gpu.Some[int64](1), BoardPartNumber: "102-G30211-0C",
		Architecture: "cdna3",
	}, d.Info)
	smitest.RequireNear(t, 0.40, d.Utilization[gpu.TaskGeneral], "utilization")
	smitest.RequireNear(t, 0.10, d.Utilization[gpu.TaskJPEG], "JPEG")
	smitest.RequireNear(t, 0.21, d.MemoryController, "controller")
	smitest.RequireValue(t, int64(196592<<20), d.Memory.Limit, "limit")
	smitest.RequireValue(t, int64(98304<<20), d.Memory.Usage, "usage")
	smitest.RequireNear(t, 71, d.Temperature[gpu.SensorHotspot], "hotspot")
	assert.False(t, d.Temperature[gpu.SensorEdge].Known())
	smitest.RequireNear(t, 100, d.TemperatureLimit[gpu.SensorHotspot][gpu.LimitDegraded], "slowdown")
	smitest.RequireNear(t, 412, d.Power.Draw, "power")
	smitest.RequireNear(t, 700, d.Power.Limit[gpu.LimitEnforced], "cap")
	smitest.RequireNear(t, 750, d.Power.Limit[gpu.LimitMax], "highest cap")
	smitest.RequireNear(t, 2104e6, d.Clocks[gpu.ClockGraphics].Speed, "graphics")
	smitest.RequireNear(t, 2100e6, d.Clocks[gpu.ClockGraphics].Limit, "graphics limit")
	smitest.RequireValue(t, int64(5), d.PCIe.Generation, "generation")
	smitest.RequireValue(t, int64(5), d.PCIe.GenerationLimit, "generation limit")
	smitest.RequireValue(t, int64(16), d.PCIe.Width, "width")
	smitest.RequireValue(t, int64(16), d.PCIe.WidthLimit, "width limit")
	assert.Empty(t, d.Fans)
	assert.Equal(t, map[string]int64{
		"umc corrected": 7, "umc uncorrected": 1, "umc deferred": 2,
		"sdma corrected": 0, "sdma uncorrected": 0, "sdma deferred": 0,
		"xgmi_wafl corrected": 2, "xgmi_wafl uncorrected": 0, "xgmi_wafl deferred": 0,
	}, smitest.ErrorCounts(d), "by block, and no total beside them")
	assert.Equal(t, gpu.Total[int64](3), d.PCIe.Replays)
	assert.Equal(t, gpu.Total[int64](12), d.PCIe.Recoveries)
	assert.Equal(t, gpu.Total[int64](2), d.PCIe.ReplayRollovers)
	assert.Equal(t, gpu.Total[int64](5), d.PCIe.NAKsTransmitted)
	assert.False(t, d.PCIe.NAKsReceived.Known(), "all bits are ones")
	smitest.RequireNear(t, 210, d.Power.Limit[gpu.LimitMin], "lowest cap")
	smitest.RequireNear(t, 0.06, d.Utilization[gpu.TaskMedia], "VCN")
	assert.Equal(t, []gpu.Opt[float64]{
		gpu.Some(0.80), gpu.Some(0.78), gpu.Some(0.82), gpu.Some(0.80), gpu.Some(0.0), gpu.Some(0.0), gpu.Some(0.0), gpu.Some(0.04),
	}, d.XCCUtilization)
	assert.Equal(t, []gpu.SensorValue{
		{Location: "hbm0", Value: gpu.Some(55.0)},
		{Location: "hbm1", Value: gpu.Some(58.0)},
		{Location: "aid0", Value: gpu.Some(61.0)},
		{Location: "xcd0", Value: gpu.Some(66.0)},
		{Location: "xcd1", Value: gpu.Some(67.0)},
	}, d.TemperatureDetail)
	assert.Empty(t, d.Voltage)
	smitest.RequireValue(t, int64(3), d.RetiredPages.Bad, "bad pages")
	smitest.RequireValue(t, int64(128), d.RetiredPages.BadLimit, "limit of bad pages")
	smitest.RequireValue(t, true, d.Throttle[gpu.ThrottleHostLimitPower].Active, "below the limit of the host, on one XCC")
	assert.False(t, d.Throttle[gpu.ThrottleHostLimitThermal].Active.Known())
	smitest.RequireValue(t, true, d.Throttle[gpu.ThrottlePowerPPT].Active, "PPT")
	smitest.RequireValue(t, false, d.Throttle[gpu.ThrottleThermalVR].Active, "VR")
	assert.False(t, d.Throttle[gpu.ThrottleThermalMemory].Active.Known())
	assert.False(t, d.Throttle[gpu.ThrottleSWPowerCap].Active.Known())
	assert.Equal(t, gpu.XGMI, d.Interconnect.Type)
	received, _ := d.Interconnect.Received.Get()
	transmitted, _ := d.Interconnect.Transmitted.Get()
	assert.Equal(t, int64(1030<<10), received)
	assert.Equal(t, int64(2004<<10), transmitted)
	speed := gpu.Link{Bandwidth: gpu.Some(64e9), Width: gpu.Some[int64](16)}
	assert.Equal(t, []gpu.Link{
		{
			Name: "1", Received: gpu.Total[int64](1000 << 10), Transmitted: gpu.Total[int64](2000 << 10), Up: gpu.Some(true),
			Bandwidth: speed.Bandwidth, Width: speed.Width,
		},
		{Name: "2", Received: gpu.Total[int64](30 << 10), Transmitted: gpu.Total[int64](4 << 10), Up: gpu.Some(false)},
	}, d.Interconnect.Links)

	for n, want := range []float64{0.80, 0.01} {
		p := &node.Devices[n+1]
		assert.Equal(t, id, p.Parent)
		assert.Equal(t, "0000:05:00.0", p.Info.PCIAddress)
		assert.Equal(t, "cdna3", p.Info.Architecture)
		smitest.RequireNear(t, want, p.Utilization[gpu.TaskGeneral], "utilization")
		assert.False(t, p.Power.Draw.Known())
		assert.False(t, p.Temperature[gpu.SensorHotspot].Known())
		assert.False(t, p.Energy.Known())
		assert.Empty(t, p.Errors)
		assert.False(t, p.RetiredPages.Bad.Known())
		smitest.RequireNear(t, 0.12*float64(1-n), p.Utilization[gpu.TaskMedia], "VCN of the partition")
		assert.Equal(t, n == 1, p.Memory.Limit.Known(), "the first shows the package's")
	}
	smitest.RequireValue(t, int64(98296<<20), node.Devices[2].Memory.Limit, "limit")
	smitest.RequireValue(t, int64(492<<20), node.Devices[2].Memory.Usage, "usage")

	none := gpu.Total(0.0)
	require.Equal(t, []gpu.Process{
		{PID: 4711, DeviceID: id + "/0", Type: gpu.ProcessCompute, Memory: gpu.Some[int64](51543801856), EvictedTime: none, Executable: "python3.12"},
		{PID: 4712, DeviceID: id + "/0", Type: gpu.ProcessCompute, Memory: gpu.Some[int64](1073741824), EvictedTime: none, Executable: "python3"},
		{PID: 4712, DeviceID: id + "/1", Type: gpu.ProcessCompute, Memory: gpu.Some[int64](2147483648), EvictedTime: none, Executable: "python3"},
	}, node.Processes)
	require.Len(t, node.Problems, 1)
	assert.Contains(t, smitest.Problems(node), "missing the following required groups: render")
}

func TestNamesOf72(t *testing.T) {
	t.Parallel()
	node := smitest.Read(t, newTestSource(smitest.AMDTool(t, "amd-smi-7.2-spx")))
	require.Equal(t, []string{"00a1b2c3d4e5f607", ""}, smitest.IDs(node), "0x0 is no unique id")
	d := &node.Devices[0]
	assert.Equal(t, "gpu0", d.Name)
	assert.Equal(t, "113-D7670300-104", d.Info.FirmwareVersion)
	assert.Equal(t, "6.16.13", d.Info.DriverVersion)
	assert.False(t, d.Info.NUMANode.Known())
	smitest.RequireNear(t, 300, d.Power.Limit[gpu.LimitEnforced], "cap")
	smitest.RequireNear(t, 300, d.Power.Limit[gpu.LimitMax], "highest cap")
	smitest.RequireNear(t, 109, d.TemperatureLimit[gpu.SensorEdge][gpu.LimitDegraded], "slowdown")
	smitest.RequireNear(t, 18, d.Power.Draw, "power")
	smitest.RequireNear(t, 1, d.Utilization[gpu.TaskGeneral], "utilization")
	smitest.RequireNear(t, 3e6, d.Clocks[gpu.ClockGraphics].Speed, "graphics, asleep")
	smitest.RequireNear(t, 2350e6, d.Clocks[gpu.ClockGraphics].Limit, "graphics limit")
	smitest.RequireNear(t, 0.2, d.Fans[0].Ratio, "fan")
	smitest.RequireValue(t, int64(1103), d.Fans[0].Speed, "fan")
	smitest.RequireNear(t, 210, d.Power.Limit[gpu.LimitMin], "lowest cap")
	smitest.RequireNear(t, 0, d.Utilization[gpu.TaskMedia], "one value for all VCNs")
	assert.Equal(t, []gpu.SensorValue{
		{Location: "gfx", Value: gpu.Some(0.062)}, {Location: "soc", Value: gpu.Some(0.789)}, {Location: "mem", Value: gpu.Some(1.245)},
	}, d.Voltage)
	smitest.RequireValue(t, false, d.Throttle[gpu.ThrottleUnspecified].Active, "UNTHROTTLED")
	assert.Empty(t, d.XCCUtilization)
	assert.Empty(t, d.TemperatureDetail)
	assert.Equal(t, map[string]int64{"corrected": 4, "uncorrected": 0, "deferred": 0}, smitest.ErrorCounts(d), "totals, where there are no blocks")
	assert.Empty(t, d.Faults)

	o := &node.Devices[1]
	assert.Equal(t, "0000:07:00.0", o.Info.PCIAddress)
	assert.Equal(t, gpu.StatePredictedFailure, o.State())
	require.Len(t, o.Faults, 1)
	assert.Equal(t, gpu.FaultBadPageThreshold, o.Faults[0].Type)

	assert.Empty(t, node.Processes, "listed under every GPU with the same memory")
	assert.True(t, d.ProcessesUnread)
	assert.Contains(t, smitest.Problems(node), "lists 2 processes under every GPU")
	assert.True(t, node.HasProblem(gpu.ProblemProcesses))
}

func TestPlainValuesOf60(t *testing.T) {
	t.Parallel()
	node := smitest.Read(t, newTestSource(smitest.AMDTool(t, "amd-smi-6.0", "--throttle")))
	require.Empty(t, smitest.Problems(node))
	require.Equal(t, []string{"32a4d3d61bfc2208"}, smitest.IDs(node))
	d := &node.Devices[0]
	assert.Equal(t, "MI210", d.Model)
	assert.Equal(t, "PCB017", d.Info.Serial)
	assert.Equal(t, "6.3.6", d.Info.DriverVersion)
	smitest.RequireNear(t, 0.87, d.Utilization[gpu.TaskGeneral], "utilization")
	smitest.RequireNear(t, 0.44, d.MemoryController, "controller")
	smitest.RequireNear(t, 231, d.Power.Draw, "power")
	smitest.RequireNear(t, 280, d.Power.Limit[gpu.LimitEnforced], "cap")
	smitest.RequireNear(t, 300, d.Power.Limit[gpu.LimitMax], "highest cap")
	smitest.RequireNear(t, 110, d.TemperatureLimit[gpu.SensorHotspot][gpu.LimitDegraded], "junction")
	assert.False(t, d.TemperatureLimit[gpu.SensorHotspot][gpu.LimitCritical].Known())
	smitest.RequireNear(t, 1700e6, d.Clocks[gpu.ClockGraphics].Speed, "graphics")
	smitest.RequireNear(t, 1600e6, d.Clocks[gpu.ClockMemory].Limit, "memory clock limit")
	smitest.RequireValue(t, int64(32768<<20), d.Memory.Usage, "usage")
	smitest.RequireValue(t, int64(4), d.PCIe.GenerationLimit, "16000 MT/s")
	smitest.RequireValue(t, int64(16), d.PCIe.WidthLimit, "width limit")
	smitest.RequireValue(t, int64(4), d.PCIe.Generation, "16000 MT/s")
	joules, _ := d.Energy.Get()
	require.InDelta(t, 8123.25, joules, 1e-9)
	assert.Equal(t, map[string]int64{"umc corrected": 1, "umc uncorrected": 0}, smitest.ErrorCounts(d))
	assert.Equal(t, gpu.Total[int64](0), d.PCIe.Replays)
	assert.Empty(t, d.Fans)
	assert.Empty(t, node.Processes)
}
