// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var eccCounts = [...]struct {
	field    field
	function *library.Function
	group    gpu.Group
	kind     library.ErrorType
	period   library.ECCCounter
	err      gpu.ErrorType
	lifetime bool
}{
	{
		fieldECCCorrected, newECCErrors(), gpu.GroupECC,
		library.ErrorCorrected, library.ECCVolatile, gpu.ErrorCorrected, false,
	},
	{
		fieldECCUncorrected, newECCErrors(), gpu.GroupECC,
		library.ErrorUncorrected, library.ECCVolatile, gpu.ErrorUncorrected, false,
	},
	{
		fieldECCLifetimeCorrected, newECCErrors(), gpu.GroupECCLifetime,
		library.ErrorCorrected, library.ECCAggregate, gpu.ErrorCorrected, true,
	},
	{
		fieldECCLifetimeUncorrected, newECCErrors(), gpu.GroupECCLifetime,
		library.ErrorUncorrected, library.ECCAggregate, gpu.ErrorUncorrected, true,
	},
}

func newECCErrors() *library.Function {
	return library.NewFunction("ECC errors", "nvmlDeviceGetTotalEccErrors")
}

var instanceErrors = library.NewFunction("ECC errors", "nvmlDeviceGetMemoryErrorCounter")

// readECC reads the memory errors since the driver was loaded, and since manufacture. A GPU whose ECC is off counts none.
func readECC(dev *device, d *gpu.Device) {
	if mode, ok := dev.fields.get(fieldECCMode); ok && mode.Unsigned == 0 {
		return
	}
	for i := range eccCounts {
		c := &eccCounts[i]
		if !dev.cfg.Want.Has(c.group) {
			continue
		}
		n, ok := dev.fields.count(c.field)
		if dev.fields.lacks(c.field) && dev.Can(c.function) {
			v, ret := dev.handle.GetTotalEccErrors(c.kind, c.period)
			if dev.OK(c.function, library.Code(ret)) {
				n, ok = library.Bytes(v)
			}
		}
		if ok {
			d.Errors = append(d.Errors, gpu.ErrorCount{Type: c.err, Count: gpu.Total(n), Lifetime: c.lifetime})
		}
	}
}

// readInstanceECC reads the errors that the driver counts for a MIG instance: the uncorrected ones outside DRAM since it was loaded.
func readInstanceECC(dev *device, d *gpu.Device) {
	if !dev.Can(instanceErrors) {
		return
	}
	v, ret := dev.handle.GetMemoryErrorCounter(library.ErrorUncorrected, library.ECCVolatile, library.ECCInSRAM)
	if !dev.OK(instanceErrors, library.Code(ret)) {
		return
	}
	if n, ok := library.Bytes(v); ok {
		d.Errors = append(d.Errors, gpu.ErrorCount{Type: gpu.ErrorUncorrected, Count: gpu.Total(n)})
		d.ECC.Memory[gpu.MemorySRAM][gpu.ErrorUncorrected] = gpu.Total(n)
	}
}
