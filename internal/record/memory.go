// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// memoryUtilization returns the fraction of a device's memory that is used; absent without a size.
func memoryUtilization(d *gpu.Device) gpu.Opt[float64] {
	usage, usageKnown := d.Memory.Usage.Get()
	limit, limitKnown := d.Memory.Limit.Get()
	if !usageKnown || !limitKnown || limit <= 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(float64(usage) / float64(limit))
}

func recordRowsRemapped(p *devicePoints) {
	record := func(kind gpu.ErrorType, count gpu.Counter[int64]) {
		key := seriesKey{counter: counterRowsRemapped, kind: uint8(kind)}
		recordTotal(p, key, count, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuMemoryRowRemappedDataPoint(p.ts, total, errorTypes[kind], p.device.ID, options...)
		})
	}
	record(gpu.ErrorCorrected, p.device.RemappedRows.Corrected)
	record(gpu.ErrorUncorrected, p.device.RemappedRows.Uncorrected)
}

func recordPagesRetired(p *devicePoints) {
	record := func(kind gpu.ErrorType, count gpu.Counter[int64]) {
		key := seriesKey{counter: counterPagesRetired, kind: uint8(kind)}
		recordTotal(p, key, count, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuMemoryPageRetiredDataPoint(p.ts, total, errorTypes[kind], p.device.ID, options...)
		})
	}
	record(gpu.ErrorCorrected, p.device.RetiredPages.Corrected)
	record(gpu.ErrorUncorrected, p.device.RetiredPages.Uncorrected)
}

// recordRemapState records pending and failed remappings of rows. Page retirement, on boards before Ampere, is not a remapping.
func recordRemapState(p *devicePoints) {
	rows := &p.device.RemappedRows
	record := func(state metadata.AttributeHwGpuRemapState, value gpu.Opt[bool]) {
		if v, ok := value.Get(); ok {
			p.builder.RecordHwGpuMemoryRemapStateDataPoint(p.ts, flag(v), state, p.device.ID, p.identity...)
		}
	}
	record(metadata.AttributeHwGpuRemapStatePending, rows.Pending)
	record(metadata.AttributeHwGpuRemapStateFailed, rows.Failed)
}
