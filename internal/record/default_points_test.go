// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// ofTheHardware reports whether a point is one of docs/reference/metrics.md, "What the hardware reports".
func ofTheHardware(p otlptest.Point) bool {
	value := func(attribute string, values ...any) bool { return slices.Contains(values, p.Attributes[attribute]) }
	switch p.Metric {
	case "hw.gpu.ecc.memory.errors", "hw.gpu.ecc.sram.threshold_exceeded", "hw.gpu.fabric.condition", "hw.gpu.fabric.state",
		"hw.gpu.interconnect.link.count", "hw.gpu.memory.bank.count", "hw.gpu.memory.page.bad", "hw.gpu.memory.page.bad.limit",
		"hw.gpu.mode.pending", "hw.gpu.pcie.errors", "hw.gpu.vgpu.licensed", "process.gpu.memory.system.usage":
		return true
	case "hw.gpu.throttle.time", "hw.gpu.throttled":
		return value("hw.gpu.throttle.reason", "board_limit", "low_utilization", "reliability", "host_limit_power", "host_limit_thermal")
	case "hw.power.limit":
		return value("hw.limit_type", "min", "default")
	case "hw.gpu.temperature.margin":
		return value("hw.limit_type", "high.critical", "max")
	case "hw.gpu.utilization":
		return value("hw.gpu.task", "media")
	default:
		return false
	}
}

// What the hardware reports adds at most a third to the points of a GPU that has all of it and is used. docs/reference/metrics.md has these numbers.
func TestDefaultSetGrowsByAtMostAThird(t *testing.T) {
	for name, c := range map[string]struct {
		node          *gpu.Node
		before, added int
	}{
		"H100":   {atWork(h100()), 72, 23},
		"MI300X": {atWork(mi300x()), 63, 18},
	} {
		t.Run(name, func(t *testing.T) {
			before, added := 0, 0
			for _, p := range otlptest.Points(newRecorder(metadata.NewDefaultMetricsBuilderConfig()).Record(c.node)) {
				switch {
				case p.Attributes["hw.id"] == nil: // of the node
				case ofTheHardware(p):
					added++
				default:
					before++
				}
			}
			assert.Equal(t, []int{c.before, c.added}, []int{before, added})
			assert.LessOrEqual(t, 3*added, before)
		})
	}
}

// atWork is a node with one GPU, which a pod holds and uses with one process.
func atWork(d gpu.Device) *gpu.Node {
	pod := &gpu.Container{Namespace: "research", PodName: "train-0", PodUID: "0a1b2c3d", Name: "trainer", ID: "cafe01"}
	d.Holders, d.HoldersKnown, d.HoldersComplete = []gpu.Holder{{Container: pod}}, true, true
	process := gpu.Process{PID: 4711, DeviceID: d.ID, Type: gpu.ProcessCompute, Executable: "python3", Memory: gpu.Some[int64](8 << 30), Container: pod}
	process.Utilization[gpu.TaskGeneral] = gpu.Some(0.71)
	use := gpu.ContainerUse{
		Container: pod, DeviceID: d.ID, Allocated: gpu.Some(true), MemoryUsage: gpu.Some[int64](8 << 30), Power: gpu.Some(401.5),
		Energy: gpu.TotalSince(7001.25, since), IdleTime: gpu.TotalSince(12.5, since),
	}
	use.Utilization[gpu.TaskGeneral] = gpu.Some(0.71)
	if d.Vendor == gpu.NVIDIA {
		process.MemoryController = gpu.Some(0.37)
	}
	return &gpu.Node{
		Host: gpu.Host{Name: "node-a", NodeName: "node-a"}, Source: "test", Vendor: d.Vendor, Time: readAt,
		Devices: []gpu.Device{d}, Processes: []gpu.Process{process}, Containers: []gpu.ContainerUse{use},
	}
}

// common is what both vendors' GPUs have.
func common(d gpu.Device) gpu.Device {
	d.MemoryController, d.Energy = gpu.Some(0.41), gpu.Total(123.5)
	d.Memory = gpu.Memory{Limit: gpu.Some[int64](80 << 30), Usage: gpu.Some[int64](8 << 30)}
	d.Power.Draw = gpu.Some(612.25)
	d.Utilization[gpu.TaskGeneral] = gpu.Some(0.71)
	for _, limit := range []gpu.Limit{gpu.LimitEnforced, gpu.LimitMax, gpu.LimitMin, gpu.LimitDefault} {
		d.Power.Limit[limit] = gpu.Some(700.0)
	}
	for domain := range d.Clocks {
		d.Clocks[domain].Speed = gpu.Some(1.98e9)
	}
	one := gpu.Some[int64](1)
	d.PCIe = gpu.PCIe{Replays: gpu.Total[int64](3), Generation: one, GenerationLimit: one, Width: one, WidthLimit: one, Errors: pcieErrors()}
	d.Interconnect.Transmitted, d.Interconnect.Received = gpu.Total[int64](1), gpu.Total[int64](2)
	d.Interconnect.Links = []gpu.Link{{Name: "0", Up: gpu.Some(true)}}
	return d
}

// h100 has what NVML reports for a healthy H100 SXM with a few remapped rows.
func h100() gpu.Device {
	d := common(gpu.Device{ID: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA})
	d.Memory.Reserved, d.PerformanceState, d.RecoveryAction = gpu.Some[int64](1<<30), gpu.Some[int64](0), gpu.Some(gpu.RecoveryNone)
	d.PCIe.Transmitted, d.PCIe.Received = gpu.Total[int64](1), gpu.Total[int64](2)
	for task := range gpu.TaskMedia {
		d.Utilization[task] = gpu.Some(0.5)
	}
	for _, sensor := range []gpu.Sensor{gpu.SensorGPU, gpu.SensorMemory} {
		d.Temperature[sensor] = gpu.Some(52.0)
	}
	d.TemperatureLimit[gpu.SensorGPU] = [gpu.NumLimits]gpu.Opt[float64]{gpu.LimitDegraded: gpu.Some(87.0), gpu.LimitCritical: gpu.Some(92.0), gpu.LimitMax: gpu.Some(85.0)}
	d.TemperatureLimit[gpu.SensorMemory][gpu.LimitMax] = gpu.Some(95.0)
	d.TemperatureMargin = [gpu.NumLimits]gpu.Opt[float64]{gpu.LimitDegraded: gpu.Some(30.0), gpu.LimitCritical: gpu.Some(35.0), gpu.LimitMax: gpu.Some(28.0)}
	for _, reason := range []gpu.ThrottleReason{
		gpu.ThrottleSWPowerCap, gpu.ThrottleHWSlowdown, gpu.ThrottleSyncBoost, gpu.ThrottleSWThermal, gpu.ThrottleHWThermal, gpu.ThrottleHWPowerBrake,
	} {
		d.Throttle[reason].Active = gpu.Some(false)
		if reason != gpu.ThrottleHWSlowdown { // NVML has no time for it
			d.Throttle[reason].Time = gpu.Total(1.5)
		}
	}
	for _, reason := range []gpu.ThrottleReason{gpu.ThrottleBoardLimit, gpu.ThrottleLowUtilization, gpu.ThrottleReliability} {
		d.Throttle[reason].Time = gpu.Total(1.5)
	}
	for _, kind := range []gpu.ErrorType{gpu.ErrorCorrected, gpu.ErrorUncorrected} {
		d.Errors = append(d.Errors, gpu.ErrorCount{Type: kind, Count: gpu.Total[int64](3)})
		d.ECC.Memory[gpu.MemorySRAM][kind], d.ECC.Memory[gpu.MemoryDRAM][kind] = gpu.Total[int64](1), gpu.Total[int64](2)
	}
	d.ECC.SRAMThresholdExceeded, d.Fabric.State = gpu.Some(false), gpu.Some(gpu.FabricCompleted)
	d.RemappedRows = gpu.RemappedRows{Corrected: gpu.Total[int64](1), Uncorrected: gpu.Total[int64](0), Pending: gpu.Some(false), Failed: gpu.Some(false)}
	d.MemoryBanks = [gpu.NumSpares]gpu.Opt[int64]{
		gpu.Some[int64](639), gpu.Some[int64](1), gpu.Some[int64](0), gpu.Some[int64](0), gpu.Some[int64](0),
	}
	for _, kind := range []gpu.LinkErrorType{gpu.LinkErrorCRC, gpu.LinkErrorReplay, gpu.LinkErrorRecovery, gpu.LinkErrorECC} {
		d.Interconnect.Errors[kind] = gpu.Total[int64](0)
	}
	for _, mode := range []gpu.ModeName{gpu.ModeECC, gpu.ModeMIG} {
		d.Modes[mode] = gpu.Mode{Value: "enabled", Pending: gpu.Some(false)}
	}
	return d
}

// mi300x has what the amdgpu driver reports of an MI300X with the table of revision 1.8.
func mi300x() gpu.Device {
	d := common(gpu.Device{ID: amdID, Name: "card1", Model: "AMD Instinct MI300X", Vendor: gpu.AMD})
	d.Interconnect.Type = gpu.XGMI
	d.Clocks[gpu.ClockSM] = gpu.Clock{}
	d.Utilization[gpu.TaskMedia], d.Utilization[gpu.TaskJPEG] = gpu.Some(0.2), gpu.Some(0.1)
	for _, sensor := range []gpu.Sensor{gpu.SensorHotspot, gpu.SensorMemory} {
		d.Temperature[sensor] = gpu.Some(52.0)
		d.TemperatureLimit[sensor][gpu.LimitDegraded], d.TemperatureLimit[sensor][gpu.LimitCritical] = gpu.Some(100.0), gpu.Some(110.0)
	}
	for _, reason := range []gpu.ThrottleReason{
		gpu.ThrottlePowerPPT, gpu.ThrottleThermalGPU, gpu.ThrottleThermalMemory, gpu.ThrottleThermalVR, gpu.ThrottleThermalExtern,
	} {
		d.Throttle[reason] = gpu.Throttle{Active: gpu.Some(false), Time: gpu.Total(1.5)}
	}
	for _, reason := range []gpu.ThrottleReason{gpu.ThrottleHostLimitPower, gpu.ThrottleHostLimitThermal} {
		d.Throttle[reason] = gpu.Throttle{Active: gpu.Some(false), Time: gpu.Total(1.5)}
	}
	d.Throttle[gpu.ThrottleLowUtilization].Time = gpu.Total(1.5)
	for _, block := range []string{"umc", "gfx", "sdma", "mmhub", "xgmi_wafl", "pcie_bif"} {
		for _, kind := range []gpu.ErrorType{gpu.ErrorCorrected, gpu.ErrorUncorrected} {
			d.Errors = append(d.Errors, gpu.ErrorCount{Type: kind, Block: block, Count: gpu.Total[int64](0)})
		}
	}
	d.Errors = append(d.Errors, gpu.ErrorCount{Type: gpu.ErrorDeferred, Block: "umc", Count: gpu.Total[int64](0)})
	d.RetiredPages.Bad, d.RetiredPages.BadLimit = gpu.Some[int64](0), gpu.Some[int64](128)
	return d
}
