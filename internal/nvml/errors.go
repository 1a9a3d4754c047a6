// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var eccCounts = [...]struct {
	field    field
	fn       function
	group    gpu.Group
	kind     gonvml.MemoryErrorType
	period   gonvml.EccCounterType
	err      gpu.ErrorType
	lifetime bool
}{
	{
		fieldECCCorrected, fnECCCorrected, gpu.GroupECC,
		gonvml.MEMORY_ERROR_TYPE_CORRECTED, gonvml.VOLATILE_ECC, gpu.ErrorCorrected, false,
	},
	{
		fieldECCUncorrected, fnECCUncorrected, gpu.GroupECC,
		gonvml.MEMORY_ERROR_TYPE_UNCORRECTED, gonvml.VOLATILE_ECC, gpu.ErrorUncorrected, false,
	},
	{
		fieldECCLifetimeCorrected, fnECCLifetimeCorrected, gpu.GroupECCLifetime,
		gonvml.MEMORY_ERROR_TYPE_CORRECTED, gonvml.AGGREGATE_ECC, gpu.ErrorCorrected, true,
	},
	{
		fieldECCLifetimeUncorrected, fnECCLifetimeUncorrected, gpu.GroupECCLifetime,
		gonvml.MEMORY_ERROR_TYPE_UNCORRECTED, gonvml.AGGREGATE_ECC, gpu.ErrorUncorrected, true,
	},
}

// readECC reads the memory errors since the driver was loaded, and since manufacture. A GPU whose ECC is off counts none.
func (b *board) readECC(d *gpu.Device) {
	if mode, ok := b.fields.get(fieldECCMode); ok && mode.unsigned == 0 {
		return
	}
	for i := range eccCounts {
		c := &eccCounts[i]
		if !b.src.want.Has(c.group) {
			continue
		}
		n, ok := b.fields.total(c.field)
		if b.fields.lacks(c.field) && b.can(c.fn) {
			v, ret := b.handle.GetTotalEccErrors(c.kind, c.period)
			if b.ok(c.fn, code(ret)) {
				n, ok = bytes(v)
			}
		}
		if ok {
			d.Errors = append(d.Errors, gpu.ErrorCount{Type: c.err, Count: gpu.Total(n), Lifetime: c.lifetime})
		}
	}
}

// readECC reads the errors that the driver counts for an instance: the uncorrected ones outside DRAM since it was loaded.
func (i *instance) readECC(d *gpu.Device) {
	if !i.can(fnECCInstance) {
		return
	}
	v, ret := i.handle.GetMemoryErrorCounter(gonvml.MEMORY_ERROR_TYPE_UNCORRECTED, gonvml.VOLATILE_ECC, gonvml.MEMORY_LOCATION_SRAM)
	if !i.ok(fnECCInstance, code(ret)) {
		return
	}
	if n, ok := bytes(v); ok {
		d.Errors = append(d.Errors, gpu.ErrorCount{Type: gpu.ErrorUncorrected, Count: gpu.Total(n)})
	}
}

// readRemappedRows reads the rows that were replaced by spares, or on older boards the pages taken out of use, and says
// what that means for the GPU's health.
func (b *board) readRemappedRows(d *gpu.Device) {
	f := &b.fields
	r := &d.RemappedRows
	r.Corrected = counted(f.total(fieldRemappedCorrected))
	r.Uncorrected = counted(f.total(fieldRemappedUncorrected))
	r.Pending = flag(f.get(fieldRemappedPending))
	r.Failed = flag(f.get(fieldRemappedFailure))
	if f.lacks(fieldRemappedCorrected) && b.can(fnRemappedRows) {
		corrected, uncorrected, pending, failed, ret := b.handle.GetRemappedRows()
		if b.ok(fnRemappedRows, code(ret)) {
			r.Corrected, r.Uncorrected = rows(corrected), rows(uncorrected)
			r.Pending, r.Failed = gpu.Some(pending), gpu.Some(failed)
		}
	}
	p := &d.RetiredPages
	p.Corrected = counted(f.total(fieldRetiredSBE))
	p.Uncorrected = counted(f.total(fieldRetiredDBE))
	p.Pending = flag(f.get(fieldRetiredPending))
	addRemapFaults(d)
}

// readRecovery reads what the driver asks for to get the GPU back to work.
func (b *board) readRecovery(d *gpu.Device) {
	var unknown gpu.Opt[int64]
	if action, ok := b.fields.total(fieldRecovery); ok && !addRecovery(d, action) {
		unknown = gpu.Some(action)
	}
	if unknown != b.unknownAction {
		b.unknownAction = unknown
		b.explainAction()
	}
}

// explainAction has it told that the driver asks for something of which it is not known what it is, as long as it does.
func (b *board) explainAction() {
	const key = -1 // of no function and no field
	b.calls.forget(key)
	if action, ok := b.unknownAction.Get(); ok {
		what := fieldSpecs[fieldRecovery].what
		b.problems = append(b.problems, gpu.Problem{Device: b.calls.device, What: what, Err: fmt.Errorf(
			"nvml: %s: read %s: the driver asks for action %d, which this version does not know; nvidia-smi -q may name it",
			b.calls.device, what, action,
		)})
		b.keys = append(b.keys, key)
	}
}
