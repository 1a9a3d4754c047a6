// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"strconv"
	"strings"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// memoryRows are the pages that boards before Ampere retire. quantities.go names the rows of memory that later boards remap.
var memoryRows = []quantity{
	{
		group: gpu.GroupRemappedRows, name: "retired pages", retires: true,
		fields: []fieldID{{gonvml.FI_DEV_RETIRED_SBE, 0}},
		set:    unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.RetiredPages.Corrected }),
	},
	{
		group: gpu.GroupRemappedRows, name: "retired pages", retires: true,
		fields: []fieldID{{gonvml.FI_DEV_RETIRED_DBE, 0}},
		set:    unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.RetiredPages.Uncorrected }),
	},
	{
		group: gpu.GroupRemappedRows, name: "retired pages", retires: true,
		fields: []fieldID{{gonvml.FI_DEV_RETIRED_PENDING, 0}},
		set:    unitSetter(flag, func(d *gpu.Device) *gpu.Opt[bool] { return &d.RetiredPages.Pending }),
	},
}

var (
	memoryInfo      = library.NewFunction("memory", "nvmlDeviceGetMemoryInfo")
	memoryInfoV2    = library.NewFunction("memory", "nvmlDeviceGetMemoryInfo_v2")
	bar1Memory      = library.NewFunction("BAR1", "nvmlDeviceGetBAR1MemoryInfo")
	protectedMemory = library.NewFunction("protected memory", "nvmlDeviceGetConfComputeProtectedMemoryUsage")
)

// readMemory reads the memory of a GPU or an instance in bytes.
//
// A driver before 510 does not distinguish what it reserves from what is allocated: usage is both. NOT_SUPPORTED is the answer of GPUs that
// use the system's memory, such as GB10. That memory is not theirs, so they have no memory, and the older function is not called for them.
// A total of 0 is not a value, and then its usage is not a value either.
func readMemory(dev *device, d *gpu.Device) {
	if dev.Can(memoryInfoV2) {
		m, ret := dev.handle.GetMemoryInfo_v2()
		if dev.OK(memoryInfoV2, library.Code(ret)) && m.Total > 0 {
			d.Memory.Limit, d.Memory.Usage, d.Memory.Reserved = bytes(m.Total), bytes(m.Used), bytes(m.Reserved)
		} else if library.Code(ret) == library.NotSupported {
			dev.Refuse(memoryInfo)
		}
	}
	if !dev.Supported(memoryInfoV2) && dev.Can(memoryInfo) {
		m, ret := dev.handle.GetMemoryInfo()
		if dev.OK(memoryInfo, library.Code(ret)) && m.Total > 0 {
			d.Memory.Limit, d.Memory.Usage = bytes(m.Total), bytes(m.Used)
		}
	}
}

// readProtectedMemory reads how much of the memory that confidential computing protects is used, in bytes.
func readProtectedMemory(dev *device, d *gpu.Device) {
	if !dev.Can(protectedMemory) {
		return
	}
	m, ret := dev.handle.GetConfComputeProtectedMemoryUsage()
	if dev.OK(protectedMemory, library.Code(ret)) && m.Total > 0 { // 0: the GPU is not in that mode
		d.Memory.Protected = bytes(m.Used)
	}
}

// readBAR1 reads the window for accesses over PCI Express, in bytes. A GPU in the system's memory has no such window.
func readBAR1(dev *device, d *gpu.Device) {
	if !dev.Can(bar1Memory) {
		return
	}
	m, ret := dev.handle.GetBAR1MemoryInfo()
	if dev.OK(bar1Memory, library.Code(ret)) && m.Bar1Total > 0 {
		d.Memory.BAR1Limit, d.Memory.BAR1Usage = bytes(m.Bar1Total), bytes(m.Bar1Used)
	}
}

var remappedRows = library.NewFunction("remapped rows", "nvmlDeviceGetRemappedRows")

// readRemappedRows calls the function that reads all of the rows that were replaced by spares, if the device has no fields of them. It adds
// the faults that follow from rows, or on older boards from pages taken out of use.
func readRemappedRows(dev *device, d *gpu.Device) {
	if f := dev.fields; f.lacks(rowRemappedCorrected) && !f.noRows && dev.Can(remappedRows) {
		corrected, uncorrected, pending, failed, ret := dev.handle.GetRemappedRows()
		if dev.OK(remappedRows, library.Code(ret)) {
			r := &d.RemappedRows
			r.Corrected, r.Uncorrected = rows(corrected), rows(uncorrected)
			r.Pending, r.Failed = gpu.Some(pending), gpu.Some(failed)
		}
	}
	addRemapFaults(d)
}

// remapsRows reports whether GPUs of a compute capability may remap rows: since Ampere (8.0). Before it they retire pages, and some drivers
// answer 0 rows nevertheless. A GPU with an unknown capability is queried.
func remapsRows(capability string) bool {
	major, _, _ := strings.Cut(capability, ".")
	n, err := strconv.Atoi(major)
	return err != nil || n >= 8
}

// rows is an unsigned count to which the binding gives a sign.
func rows(n int) gpu.Counter[int64] {
	v, _ := library.Uint32(uint32(n))
	return count(v.Count())
}

func addRemapFaults(d *gpu.Device) {
	if failed, _ := d.RemappedRows.Failed.Get(); failed {
		d.AddFault(gpu.FaultRemapFailed, "a row of memory could not be remapped: no spare rows are left")
	}
	if pending, _ := d.RemappedRows.Pending.Get(); pending {
		d.AddFault(gpu.FaultRemapPending, "rows of memory are remapped at the next reset of the GPU")
	}
	if pending, _ := d.RetiredPages.Pending.Get(); pending {
		d.AddFault(gpu.FaultRemapPending, "pages of memory are retired at the next reboot or reset of the GPU")
	}
}

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
