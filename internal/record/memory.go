// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// memory records sizes, and rows and pages taken out of use. The fraction is computed only where it is wanted.
func (p *point) memory(fraction bool) {
	d, opts := p.device, p.id.gauge()
	limit, ok := d.Memory.Limit.Get()
	if ok {
		p.mb.RecordHwGpuMemoryLimitDataPoint(p.ts, limit, d.ID, opts...)
	}
	if usage, ok := d.Memory.Usage.Get(); ok {
		p.mb.RecordHwGpuMemoryUsageDataPoint(p.ts, usage, d.ID, opts...)
		if fraction && limit > 0 {
			p.mb.RecordHwGpuMemoryUtilizationDataPoint(p.ts, float64(usage)/float64(limit), d.ID, opts...)
		}
	}
	if v, ok := d.Memory.Reserved.Get(); ok {
		p.mb.RecordHwGpuMemoryReservedDataPoint(p.ts, v, d.ID, opts...)
	}
	if v, ok := d.Memory.Protected.Get(); ok {
		p.mb.RecordHwGpuMemoryProtectedUsageDataPoint(p.ts, v, d.ID, opts...)
	}
	p.otherMemory()
	rows, pages := &d.RemappedRows, &d.RetiredPages
	p.rows(gpu.ErrorCorrected, rows.Corrected)
	p.rows(gpu.ErrorUncorrected, rows.Uncorrected)
	p.pages(gpu.ErrorCorrected, pages.Corrected)
	p.pages(gpu.ErrorUncorrected, pages.Uncorrected)
	p.remapState(metadata.AttributeHwGpuRemapStatePending, rows.Pending.Or(pages.Pending))
	p.remapState(metadata.AttributeHwGpuRemapStateFailed, rows.Failed)
}

// otherMemory records a part of the GPU's memory, and memory that is not the GPU's own.
func (p *point) otherMemory() {
	m, id, opts := &p.device.Memory, p.device.ID, p.id.gauge()
	if v, ok := m.VisibleLimit.Get(); ok {
		p.mb.RecordHwGpuMemoryVisibleLimitDataPoint(p.ts, v, id, opts...)
	}
	if v, ok := m.VisibleUsage.Get(); ok {
		p.mb.RecordHwGpuMemoryVisibleUsageDataPoint(p.ts, v, id, opts...)
	}
	if v, ok := m.SystemLimit.Get(); ok {
		p.mb.RecordHwGpuMemorySystemLimitDataPoint(p.ts, v, id, opts...)
	}
	if v, ok := m.SystemUsage.Get(); ok {
		p.mb.RecordHwGpuMemorySystemUsageDataPoint(p.ts, v, id, opts...)
	}
}

func (p *point) rows(kind gpu.ErrorType, count gpu.Counter[int64]) {
	recordTotal(p, seriesKey{metric: counterRowsRemapped, kind: uint8(kind)}, count, func(total int64) {
		p.mb.RecordHwGpuMemoryRowsRemappedDataPoint(p.ts, total, errorTypes[kind], p.device.ID, p.id.counter()...)
	})
}

func (p *point) pages(kind gpu.ErrorType, count gpu.Counter[int64]) {
	recordTotal(p, seriesKey{metric: counterPagesRetired, kind: uint8(kind)}, count, func(total int64) {
		p.mb.RecordHwGpuMemoryPagesRetiredDataPoint(p.ts, total, errorTypes[kind], p.device.ID, p.id.counter()...)
	})
}

func (p *point) remapState(state metadata.AttributeHwGpuRemapState, value gpu.Opt[bool]) {
	if v, ok := value.Get(); ok {
		p.mb.RecordHwGpuMemoryRemapStateDataPoint(p.ts, flag(v), state, p.device.ID, p.id.gauge()...)
	}
}
