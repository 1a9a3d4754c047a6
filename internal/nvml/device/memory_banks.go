// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	rowRemapperHistogram = library.NewFunction("memory banks", "nvmlDeviceGetRowRemapperHistogram")
	repairStatus         = library.NewFunction("pending repairs", "nvmlDeviceGetRepairStatus")
	unrepairableMemory   = library.NewFunction("unrepairable memory", "nvmlDeviceGetUnrepairableMemoryFlag_v1")
)

// readMemoryBanks reads how many banks of the memory have how many spare rows left. A GPU without a bank has no such memory.
func readMemoryBanks(dev *device, d *gpu.Device) {
	if dev.fields.noRows || !dev.Can(rowRemapperHistogram) {
		return
	}
	h, ret := dev.handle.GetRowRemapperHistogram()
	if !dev.OK(rowRemapperHistogram, library.Code(ret)) {
		return
	}
	banks := [gpu.NumSpares]uint32{
		gpu.SparesMax: h.Max, gpu.SparesHigh: h.High, gpu.SparesPartial: h.Partial, gpu.SparesLow: h.Low, gpu.SparesNone: h.None,
	}
	if banks == [gpu.NumSpares]uint32{} {
		return
	}
	for spares, n := range banks {
		v, ok := library.Uint32(n)
		d.MemoryBanks[spares] = known(int64(v.Unsigned), ok)
	}
}

// readRepairs adds the faults of memory and of compute units that Blackwell and later repair at a reset, or cannot repair.
func readRepairs(dev *device, d *gpu.Device) {
	if dev.Can(repairStatus) {
		s, ret := dev.handle.GetRepairStatus()
		if dev.OK(repairStatus, library.Code(ret)) {
			switch {
			case s.BChannelRepairPending == 1:
				d.AddFault(gpu.FaultRemapPending, "a channel of memory is repaired at the next reset of the GPU")
			case s.BTpcRepairPending == 1:
				d.AddFault(gpu.FaultRemapPending, "a processing cluster (TPC) is repaired at the next reset of the GPU")
			}
		}
	}
	if dev.Can(unrepairableMemory) {
		s, ret := dev.handle.GetUnrepairableMemoryFlag_v1()
		if dev.OK(unrepairableMemory, library.Code(ret)) && s.BUnrepairableMemory == 1 {
			d.AddFault(gpu.FaultRemapFailed, "memory of the GPU cannot be repaired")
		}
	}
}
