// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

func recordErrors(p *devicePoints) {
	for _, e := range p.device.Errors {
		if e.Lifetime {
			continue
		}
		key := seriesKey{counter: counterErrors, kind: uint8(e.Type), number: e.XID, name: e.Block}
		recordTotal(p, key, e.Count, func(total int64, options ...metadata.MetricAttributeOption) {
			if e.Type == gpu.ErrorXID {
				options = append(options, metadata.WithHwGpuXidMetricAttribute(e.XID))
			}
			options = withText(options, e.Block, metadata.WithHwGpuErrorBlockMetricAttribute)
			p.builder.RecordHwErrorsDataPoint(p.ts, total, errorTypes[e.Type], p.device.ID, hwTypeGPU, options...)
		})
	}
}

func recordLifetimeErrors(p *devicePoints) {
	for _, e := range p.device.Errors {
		if !e.Lifetime {
			continue
		}
		key := seriesKey{counter: counterECCLifetime, kind: uint8(e.Type), name: e.Block}
		recordTotal(p, key, e.Count, func(total int64, options ...metadata.MetricAttributeOption) {
			options = withText(options, e.Block, metadata.WithHwGpuErrorBlockMetricAttribute)
			p.builder.RecordHwGpuEccLifetimeDataPoint(p.ts, total, errorTypes[e.Type], p.device.ID, options...)
		})
	}
}
