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
	errors := memoryEvents(d)
	status, _ := dev.keptValue(repairStatus, pendingRepairs, errors)
	switch {
	case status.Unsigned&channelRepair != 0:
		d.AddFault(gpu.FaultRemapPending, "a channel of memory is repaired at the next reset of the GPU")
	case status.Unsigned&tpcRepair != 0:
		d.AddFault(gpu.FaultRemapPending, "a processing cluster (TPC) is repaired at the next reset of the GPU")
	}
	if flag, _ := dev.keptValue(unrepairableMemory, unrepairable, errors); flag.Unsigned == 1 {
		d.AddFault(gpu.FaultRemapFailed, "memory of the GPU cannot be repaired")
	}
}

// memoryEvents counts the errors of the memory and its remapped rows. Without another one, the state of repairs seldom changes.
func memoryEvents(d *gpu.Device) (n int64) {
	count := func(c gpu.Counter[int64]) {
		v, _ := c.Get()
		n += v
	}
	for i := range d.Errors {
		count(d.Errors[i].Count)
	}
	count(d.RemappedRows.Corrected)
	count(d.RemappedRows.Uncorrected)
	return n
}

const (
	channelRepair = 1 << iota
	tpcRepair
)

func pendingRepairs(h library.Device) (v library.Value, ok bool, ret library.Return) {
	s, ret := h.GetRepairStatus()
	if s.BChannelRepairPending == 1 {
		v.Unsigned |= channelRepair
	}
	if s.BTpcRepairPending == 1 {
		v.Unsigned |= tpcRepair
	}
	return v, true, ret
}

func unrepairable(h library.Device) (library.Value, bool, library.Return) {
	s, ret := h.GetUnrepairableMemoryFlag_v1()
	return library.Value{Unsigned: uint64(s.BUnrepairableMemory)}, true, ret
}
