// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// recordErrors records memory errors (ECC, RAS) since the driver was loaded.
func recordErrors(p *devicePoints) {
	memoryErrors(p, counterErrors, false, func(e *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption) {
		p.builder.RecordHwErrorsDataPoint(p.ts, total, errorTypes[e.Type], p.device.ID, hwTypeGPU, options...)
	})
}

// recordLifetimeErrors records memory errors since manufacture.
func recordLifetimeErrors(p *devicePoints) {
	memoryErrors(p, counterECCLifetime, true, func(e *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption) {
		p.builder.RecordHwGpuEccLifetimeDataPoint(p.ts, total, errorTypes[e.Type], p.device.ID, options...)
	})
}

// memoryErrors calls record for each count of memory errors of the device that one metric is about.
func memoryErrors(p *devicePoints, metric counter, lifetime bool, record func(e *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption)) {
	for i := range p.device.Errors {
		e := &p.device.Errors[i]
		if e.Lifetime != lifetime {
			continue
		}
		key := seriesKey{counter: metric, kind: uint8(e.Type), name: e.Block}
		recordTotal(p, key, e.Count, func(total int64, options ...metadata.MetricAttributeOption) {
			record(e, total, withText(options, e.Block, metadata.WithHwGpuErrorBlockMetricAttribute))
		})
	}
}

// recordXIDs records the errors that the NVIDIA driver reported, by code.
func recordXIDs(p *devicePoints) {
	for _, x := range p.device.XIDs {
		key := seriesKey{counter: counterXIDs, number: x.XID}
		recordTotal(p, key, x.Count, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuXidsDataPoint(p.ts, total, x.XID, p.device.ID, options...)
		})
	}
}
