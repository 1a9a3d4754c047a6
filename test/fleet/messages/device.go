// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Memory is the memory of a GPU in bytes.
const Memory = 81559 * mib

// device returns a GPU with what NVML reports of an H100 by default.
func (n *Node) device(number int, now time.Time) gpu.Device {
	seconds := now.Sub(start).Seconds()
	total := func(perSecond float64) gpu.Counter[int64] { return gpu.Total(int64(seconds * perSecond)) }
	d := gpu.Device{
		ID: ID(n.number, number), Name: fmt.Sprintf("nvidia%d", number), Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA,
		Index: gpu.Some(number), CurrentIndex: gpu.Some(number),
		Info: gpu.Info{
			Serial: strconv.Itoa(1650000000 + n.number*16 + number), DriverVersion: "580.65.06", FirmwareVersion: "96.00.a5.00.01",
			PCIAddress: fmt.Sprintf("0000:%02x:00.0", 0x0a+0x10*number), ComputeCapability: "9.0", NUMANode: gpu.Some(int64(number / 4)),
		},
		MemoryController: gpu.Some(n.wave(number, now, 0, 0.6)),
		Memory: gpu.Memory{
			Limit: gpu.Some[int64](Memory), Reserved: gpu.Some[int64](551 * mib), Usage: gpu.Some(int64(math.Round(n.wave(number, now, 20000, 79000))) * mib),
		},
		Power: gpu.Power{
			Draw: gpu.Some(n.wave(number, now, 70, 699)), Instant: gpu.Some(n.wave(number+1, now, 70, 699)),
		},
		Energy: gpu.Total(seconds * 400), PerformanceState: gpu.Some[int64](0),
		PCIe: gpu.PCIe{
			Transmitted: total(1e8), Received: total(2e8),
			Generation: gpu.Some[int64](5), GenerationLimit: gpu.Some[int64](5), Width: gpu.Some[int64](16), WidthLimit: gpu.Some[int64](16),
		},
		Interconnect: gpu.Interconnect{Type: gpu.NVLink, Transmitted: total(3e9), Received: total(3e9)},
		RemappedRows: gpu.RemappedRows{
			Corrected: gpu.Total[int64](0), Uncorrected: gpu.Total[int64](0), Pending: gpu.Some(false), Failed: gpu.Some(false),
		},
		RecoveryAction: gpu.Some(gpu.RecoveryNone),
	}
	for task := range gpu.NumTasks {
		d.Utilization[task] = gpu.Some(0.0)
	}
	d.Utilization[gpu.TaskGeneral], d.Utilization[gpu.TaskDecoder] = gpu.Some(n.wave(number, now, 0, 1)), gpu.Some(n.wave(number, now, 0, 0.2))
	d.Temperature[gpu.SensorGPU] = gpu.Some(math.Round(n.wave(number, now, 35, 78)))
	d.Temperature[gpu.SensorMemory] = gpu.Some(math.Round(n.wave(number, now, 40, 85)))
	d.TemperatureMargin[gpu.LimitDegraded] = gpu.Some(math.Round(n.wave(number, now, 9, 52)))
	d.Power.Limit[gpu.LimitMax], d.Power.Limit[gpu.LimitEnforced] = gpu.Some(700.0), gpu.Some(700.0)
	speed := n.wave(number, now, 345, 1980) * 1e6
	d.Clocks[gpu.ClockGraphics] = gpu.Clock{Speed: gpu.Some(speed), Limit: gpu.Some(1.98e9)}
	d.Clocks[gpu.ClockSM] = d.Clocks[gpu.ClockGraphics]
	d.Clocks[gpu.ClockMemory] = gpu.Clock{Speed: gpu.Some(2.619e9), Limit: gpu.Some(2.619e9)}
	d.Clocks[gpu.ClockVideo] = gpu.Clock{Speed: gpu.Some(speed * 0.78), Limit: gpu.Some(1.545e9)}
	for reason := range gpu.ThrottlePowerPPT {
		d.Throttle[reason] = gpu.Throttle{Active: gpu.Some(false), Time: gpu.Total(seconds / 1e4)}
	}
	for _, kind := range []gpu.ErrorType{gpu.ErrorCorrected, gpu.ErrorUncorrected} {
		d.Errors = append(d.Errors, gpu.ErrorCount{Type: kind, Count: gpu.Total[int64](0)})
	}
	d.PCIe.Replays = gpu.Total[int64](0)
	for _, kind := range []gpu.LinkErrorType{gpu.LinkErrorCRC, gpu.LinkErrorReplay, gpu.LinkErrorRecovery} {
		d.Interconnect.Errors[kind] = gpu.Total[int64](0)
	}
	return d
}
