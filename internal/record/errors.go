// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

func (p *point) errors() {
	for _, e := range p.device.Errors {
		if e.Lifetime {
			p.lifetimeErrors(e)
			continue
		}
		key := seriesKey{metric: counterErrors, kind: uint8(e.Type), number: e.XID, name: e.Block}
		recordTotal(p, key, e.Count, func(total int64) {
			p.mb.RecordHwErrorsDataPoint(p.ts, total, errorTypes[e.Type], p.device.ID, isGPU, p.errorOptions(e)...)
		})
	}
}

func (p *point) lifetimeErrors(e gpu.ErrorCount) {
	key := seriesKey{metric: counterECCLifetime, kind: uint8(e.Type), name: e.Block}
	recordTotal(p, key, e.Count, func(total int64) {
		p.mb.RecordHwGpuEccLifetimeDataPoint(p.ts, total, errorTypes[e.Type], p.device.ID, p.errorOptions(e)...)
	})
}

// errorOptions adds what tells errors of one type apart.
func (p *point) errorOptions(e gpu.ErrorCount) []metadata.MetricAttributeOption {
	opts := p.id.counter()
	if e.Type == gpu.ErrorXID {
		opts = append(opts, metadata.WithHwGpuXidMetricAttribute(e.XID))
	}
	return withText(opts, e.Block, metadata.WithHwGpuErrorBlockMetricAttribute)
}
