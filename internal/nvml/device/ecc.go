// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"slices"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// eccRows are the errors since the driver was loaded and, by location too, since manufacture.
var eccRows = []quantity{
	{
		group: gpu.GroupECC, name: "ECC errors",
		fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_VOL_TOTAL, 0}},
		symbol: "nvmlDeviceGetTotalEccErrors", call: totalErrors(library.ErrorCorrected, library.ECCVolatile),
		set: errorCount(gpu.ErrorCorrected, false),
	},
	{
		group: gpu.GroupECC, name: "ECC errors",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_VOL_TOTAL, 0}},
		symbol: "nvmlDeviceGetTotalEccErrors", call: totalErrors(library.ErrorUncorrected, library.ECCVolatile),
		set: errorCount(gpu.ErrorUncorrected, false),
	},
	{
		group: gpu.GroupECCLifetime, name: "lifetime ECC errors",
		fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_TOTAL, 0}},
		symbol: "nvmlDeviceGetTotalEccErrors", call: totalErrors(library.ErrorCorrected, library.ECCAggregate),
		set: errorCount(gpu.ErrorCorrected, true),
	},
	{
		group: gpu.GroupECCLifetime, name: "lifetime ECC errors",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_TOTAL, 0}},
		symbol: "nvmlDeviceGetTotalEccErrors", call: totalErrors(library.ErrorUncorrected, library.ECCAggregate),
		set: errorCount(gpu.ErrorUncorrected, true),
	},
	// DRAM is what these fields call device memory. Other locations are counted before Ampere; nvmlDeviceGetSramEccErrorStatus has them since.
	{
		group: gpu.GroupECCMemory, name: "DRAM errors",
		fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_VOL_DEV, 0}},
		symbol: "nvmlDeviceGetMemoryErrorCounter", call: memoryErrors(library.ErrorCorrected, library.ECCVolatile, library.ECCInDRAM),
		set: unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.ECC.Memory[gpu.MemoryDRAM][gpu.ErrorCorrected] }),
	},
	{
		group: gpu.GroupECCMemory, name: "DRAM errors",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_VOL_DEV, 0}},
		symbol: "nvmlDeviceGetMemoryErrorCounter", call: memoryErrors(library.ErrorUncorrected, library.ECCVolatile, library.ECCInDRAM),
		set: unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.ECC.Memory[gpu.MemoryDRAM][gpu.ErrorUncorrected] }),
	},
	// Ampere and later have no field of DRAM.
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_DEV, 0}},
		symbol: "nvmlDeviceGetMemoryErrorCounter", call: memoryErrors(library.ErrorCorrected, library.ECCAggregate, library.ECCInDRAM),
		set: errorsAt(gpu.LocationDRAM, gpu.ErrorCorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_DEV, 0}},
		symbol: "nvmlDeviceGetMemoryErrorCounter", call: memoryErrors(library.ErrorUncorrected, library.ECCAggregate, library.ECCInDRAM),
		set: errorsAt(gpu.LocationDRAM, gpu.ErrorUncorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_L1, 0}},
		set:    errorsAt(gpu.LocationL1, gpu.ErrorCorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_L1, 0}},
		set:    errorsAt(gpu.LocationL1, gpu.ErrorUncorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_L2, 0}},
		set:    errorsAt(gpu.LocationL2, gpu.ErrorCorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_L2, 0}},
		set:    errorsAt(gpu.LocationL2, gpu.ErrorUncorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_REG, 0}},
		set:    errorsAt(gpu.LocationRegisterFile, gpu.ErrorCorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_REG, 0}},
		set:    errorsAt(gpu.LocationRegisterFile, gpu.ErrorUncorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_SBE_AGG_TEX, 0}},
		set:    errorsAt(gpu.LocationTexture, gpu.ErrorCorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_TEX, 0}},
		set:    errorsAt(gpu.LocationTexture, gpu.ErrorUncorrected),
	},
	{
		group: gpu.GroupECCLocations, name: "ECC errors by location",
		fields: []fieldID{{gonvml.FI_DEV_ECC_DBE_AGG_CBU, 0}},
		set:    errorsAt(gpu.LocationCBU, gpu.ErrorUncorrected),
	},
}

func totalErrors(kind library.ErrorType, since library.ECCCounter) valueCall {
	return number64(func(h library.Device) (uint64, library.Return) { return h.GetTotalEccErrors(kind, since) })
}

func memoryErrors(kind library.ErrorType, since library.ECCCounter, location library.MemoryLocation) valueCall {
	return number64(func(h library.Device) (uint64, library.Return) { return h.GetMemoryErrorCounter(kind, since, location) })
}

// errorCount adds a count of errors to the GPU's counts.
func errorCount(kind gpu.ErrorType, lifetime bool) setter {
	return func(d *gpu.Device, v library.Value, ok bool) bool {
		n := counter(v, ok)
		if n.Known() {
			d.Errors = append(d.Errors, gpu.ErrorCount{Type: kind, Count: n, Lifetime: lifetime})
		}
		return n.Known()
	}
}

// errorsAt adds a count of errors since manufacture at a location.
func errorsAt(location gpu.ErrorLocation, kind gpu.ErrorType) setter {
	return func(d *gpu.Device, v library.Value, ok bool) bool {
		n := counter(v, ok)
		if n.Known() {
			d.ECC.Locations = append(d.ECC.Locations, gpu.LocationErrors{Location: location, Type: kind, Count: n})
		}
		return n.Known()
	}
}

// eccOff reports whether ECC is off. The counts mean nothing then.
func (d *device) eccOff() bool {
	mode, ok := d.fields.get(rowECCMode)
	return ok && mode.Unsigned == 0
}

var instanceErrors = library.NewFunction("ECC errors", "nvmlDeviceGetMemoryErrorCounter")

// readInstanceECC reads the errors that the driver counts for a MIG instance: the uncorrected ones outside DRAM since it was loaded.
func readInstanceECC(dev *device, d *gpu.Device) {
	v, ok := dev.value(instanceErrors, memoryErrors(library.ErrorUncorrected, library.ECCVolatile, library.ECCInSRAM))
	if errorCount(gpu.ErrorUncorrected, false)(d, v, ok) {
		d.ECC.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected] = counter(v, ok)
	}
}

// sramStatus needs driver 535 and Ampere or later, and root (nvml.h: "Requires root/admin permissions").
var sramStatus = library.NewFunction("SRAM errors", "nvmlDeviceGetSramEccErrorStatus")

// readSRAM reads the errors of SRAM apart from the errors of DRAM, whether SRAM has had more than NVIDIA allows, and where the errors were. The status
// has only uncorrected errors by location. They replace the field of the same location.
func readSRAM(dev *device, d *gpu.Device) {
	if dev.eccOff() {
		return
	}
	status, answered := readSRAMStatus(dev)
	if dev.cfg.Want.Has(gpu.GroupECCMemory) {
		sram := &d.ECC.Memory[gpu.MemorySRAM]
		switch {
		case answered:
			sram[gpu.ErrorCorrected] = sumOf(status.VolatileCor)
			sram[gpu.ErrorUncorrected] = sumOf(status.VolatileUncParity, status.VolatileUncSecDed)
			d.ECC.SRAMThresholdExceeded = flag(library.Uint32(status.BThresholdExceeded))
		case !dev.Supported(sramStatus):
			sram[gpu.ErrorCorrected] = counter(dev.quantity(rowSRAMCorrected))
			sram[gpu.ErrorUncorrected] = counter(dev.quantity(rowSRAMUncorrected))
		}
	}
	if !answered || !dev.cfg.Want.Has(gpu.GroupECCLocations) {
		return
	}
	d.ECC.Locations = slices.DeleteFunc(d.ECC.Locations, func(e gpu.LocationErrors) bool {
		return e.Location == gpu.LocationL2 && e.Type == gpu.ErrorUncorrected
	})
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
		v, ok := library.Uint64(bucket.count)
		errorsAt(bucket.location, gpu.ErrorUncorrected)(d, v, ok)
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

// sumOf adds up counts. If one of them is NVML's mark for no value, there is no sum.
func sumOf(counts ...uint64) gpu.Counter[int64] {
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
