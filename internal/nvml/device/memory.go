// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

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
