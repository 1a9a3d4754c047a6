// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// sramStatus needs driver 545 and Ampere or later, and root (nvml.h: "Requires root/admin permissions").
var sramStatus = library.NewFunction("SRAM errors", "nvmlDeviceGetSramEccErrorStatus")

// memoryErrors are the errors since the driver was loaded by memory and kind: the field that has them, and the function if there is no
// field.
var memoryErrors = [...]struct {
	memory   gpu.MemoryType
	err      gpu.ErrorType
	field    field // numFields: none
	function *library.Function
	kind     library.ErrorType
	location library.MemoryLocation
}{
	{gpu.MemoryDRAM, gpu.ErrorCorrected, fieldDRAMCorrected, newMemoryErrors(), library.ErrorCorrected, library.ECCInDRAM},
	{gpu.MemoryDRAM, gpu.ErrorUncorrected, fieldDRAMUncorrected, newMemoryErrors(), library.ErrorUncorrected, library.ECCInDRAM},
	{gpu.MemorySRAM, gpu.ErrorCorrected, numFields, newMemoryErrors(), library.ErrorCorrected, library.ECCInSRAM},
	{gpu.MemorySRAM, gpu.ErrorUncorrected, numFields, newMemoryErrors(), library.ErrorUncorrected, library.ECCInSRAM},
}

func newMemoryErrors() *library.Function {
	return library.NewFunction("ECC errors by memory", "nvmlDeviceGetMemoryErrorCounter")
}

// readECCMemory reads the errors of SRAM and of DRAM, whether SRAM has had more than NVIDIA allows, and the places of the errors.
func readECCMemory(dev *device, d *gpu.Device) {
	if mode, ok := dev.fields.get(fieldECCMode); ok && mode.Unsigned == 0 {
		return
	}
	status, answered := readSRAMStatus(dev)
	if dev.cfg.Want.Has(gpu.GroupECCMemory) {
		if answered {
			d.ECC.Memory[gpu.MemorySRAM][gpu.ErrorCorrected] = errorCount(status.VolatileCor)
			d.ECC.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected] = errorCount(status.VolatileUncParity, status.VolatileUncSecDed)
			d.ECC.SRAMThresholdExceeded = flag(library.Uint32(status.BThresholdExceeded))
		}
		readMemoryErrors(dev, d, answered)
	}
	if dev.cfg.Want.Has(gpu.GroupECCLocations) {
		readErrorLocations(dev, d, status, answered)
	}
}

func readSRAMStatus(dev *device) (status library.SRAMErrors, ok bool) {
	if !dev.Can(sramStatus) {
		return status, false
	}
	status, ret := dev.handle.GetSramEccErrorStatus()
	code := library.Code(ret)
	if code == library.NoPermission { // A collector without root works as intended: its GPUs lack what only root may read.
		code = library.NotSupported
	}
	return status, dev.OK(sramStatus, code)
}

// readMemoryErrors reads the errors of DRAM, and of SRAM if the device has no SRAM status.
func readMemoryErrors(dev *device, d *gpu.Device, sram bool) {
	for i := range memoryErrors {
		e := &memoryErrors[i]
		to := &d.ECC.Memory[e.memory][e.err]
		if e.field < numFields {
			if *to = count(dev.fields.count(e.field)); !dev.fields.lacks(e.field) {
				continue
			}
		} else if sram || dev.Supported(sramStatus) {
			continue
		}
		*to = askMemoryErrors(dev, e.function, e.kind, library.ECCVolatile, e.location)
	}
}

func askMemoryErrors(
	dev *device, function *library.Function, kind library.ErrorType, since library.ECCCounter, location library.MemoryLocation,
) gpu.Counter[int64] {
	if !dev.Can(function) {
		return gpu.Counter[int64]{}
	}
	n, ret := dev.handle.GetMemoryErrorCounter(kind, since, location)
	if !dev.OK(function, library.Code(ret)) {
		return gpu.Counter[int64]{}
	}
	return errorCount(n)
}

// errorCount adds up counts. If one of them is NVML's mark for no value, there is no sum.
func errorCount(counts ...uint64) gpu.Counter[int64] {
	var sum int64
	for _, n := range counts {
		v, ok := library.Uint64(n)
		whole, fits := v.Count()
		if !ok || !fits {
			return gpu.Counter[int64]{}
		}
		sum += whole
	}
	return gpu.Total(sum)
}

// lifetimeErrors are the fields of errors since manufacture by location. DRAM also has a function: Ampere and later have no field of it.
var lifetimeErrors = [...]struct {
	location gpu.ErrorLocation
	err      gpu.ErrorType
	field    field
	function *library.Function // may be nil
	kind     library.ErrorType
}{
	{gpu.LocationDRAM, gpu.ErrorCorrected, fieldLifetimeDRAMCorrected, newLocationErrors(), library.ErrorCorrected},
	{gpu.LocationDRAM, gpu.ErrorUncorrected, fieldLifetimeDRAMUncorrected, newLocationErrors(), library.ErrorUncorrected},
	{location: gpu.LocationL1, err: gpu.ErrorCorrected, field: fieldLifetimeL1Corrected},
	{location: gpu.LocationL1, err: gpu.ErrorUncorrected, field: fieldLifetimeL1Uncorrected},
	{location: gpu.LocationL2, err: gpu.ErrorCorrected, field: fieldLifetimeL2Corrected},
	{location: gpu.LocationL2, err: gpu.ErrorUncorrected, field: fieldLifetimeL2Uncorrected},
	{location: gpu.LocationRegisterFile, err: gpu.ErrorCorrected, field: fieldLifetimeRegistersCorrected},
	{location: gpu.LocationRegisterFile, err: gpu.ErrorUncorrected, field: fieldLifetimeRegistersUncorrected},
	{location: gpu.LocationTexture, err: gpu.ErrorCorrected, field: fieldLifetimeTextureCorrected},
	{location: gpu.LocationTexture, err: gpu.ErrorUncorrected, field: fieldLifetimeTextureUncorrected},
	{location: gpu.LocationCBU, err: gpu.ErrorUncorrected, field: fieldLifetimeCBUUncorrected},
}

func newLocationErrors() *library.Function {
	return library.NewFunction("ECC errors by location", "nvmlDeviceGetMemoryErrorCounter")
}

// readErrorLocations sets the errors since manufacture by location. What the status has of SRAM, it has of uncorrected errors alone; it replaces
// the field of the same location.
func readErrorLocations(dev *device, d *gpu.Device, status library.SRAMErrors, answered bool) {
	add := func(location gpu.ErrorLocation, err gpu.ErrorType, n gpu.Counter[int64]) {
		if n.Known() {
			d.ECC.Locations = append(d.ECC.Locations, gpu.LocationErrors{Location: location, Type: err, Count: n})
		}
	}
	for _, e := range lifetimeErrors {
		switch {
		case answered && e.location == gpu.LocationL2 && e.err == gpu.ErrorUncorrected:
		case e.function != nil && dev.fields.lacks(e.field):
			add(e.location, e.err, askMemoryErrors(dev, e.function, e.kind, library.ECCAggregate, library.ECCInDRAM))
		default:
			add(e.location, e.err, count(dev.fields.count(e.field)))
		}
	}
	if !answered {
		return
	}
	for _, bucket := range [...]struct {
		location gpu.ErrorLocation
		count    uint64
	}{
		{gpu.LocationL2, status.AggregateUncBucketL2},
		{gpu.LocationSM, status.AggregateUncBucketSm},
		{gpu.LocationMicrocontroller, status.AggregateUncBucketMcu},
		{gpu.LocationPCIe, status.AggregateUncBucketPcie},
		{gpu.LocationOther, status.AggregateUncBucketOther},
	} {
		add(bucket.location, gpu.ErrorUncorrected, errorCount(bucket.count))
	}
}
