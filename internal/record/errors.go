// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// recordErrors records memory errors (ECC, RAS) since the driver was loaded.
func recordErrors(p *devicePoints) {
	errorsOf(p, counterErrors, isMemoryError, func(e *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption) {
		options = withText(options, e.Block, metadata.WithHwGpuErrorBlockMetricAttribute)
		p.builder.RecordHwErrorsDataPoint(p.ts, total, errorTypes[e.Type], p.device.ID, hwTypeGPU, options...)
	})
}

// recordLifetimeErrors records memory errors since manufacture.
func recordLifetimeErrors(p *devicePoints) {
	lifetime := func(e *gpu.ErrorCount) bool { return e.Lifetime }
	errorsOf(p, counterECCLifetime, lifetime, func(e *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption) {
		options = withText(options, e.Block, metadata.WithHwGpuErrorBlockMetricAttribute)
		p.builder.RecordHwGpuEccLifetimeDataPoint(p.ts, total, errorTypes[e.Type], p.device.ID, options...)
	})
}

// recordInterconnectErrors records the errors of all links to other GPUs.
func recordInterconnectErrors(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	errorsOf(p, counterInterconnectErrors, isLinkError, func(e *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption) {
		p.builder.RecordHwGpuInterconnectErrorsDataPoint(p.ts, total, errorTypes[e.Type], technology, p.device.ID, options...)
	})
}

// recordPCIeReplays records the packets that had to be sent again over the link to the host.
func recordPCIeReplays(p *devicePoints) {
	replay := func(e *gpu.ErrorCount) bool { return e.Type == gpu.ErrorPCIeReplay }
	errorsOf(p, counterPCIeReplays, replay, func(_ *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption) {
		p.builder.RecordHwGpuPcieReplaysDataPoint(p.ts, total, p.device.ID, options...)
	})
}

// recordXIDs records the errors that the NVIDIA driver reported, by code.
func recordXIDs(p *devicePoints) {
	xid := func(e *gpu.ErrorCount) bool { return e.Type == gpu.ErrorXID }
	errorsOf(p, counterXIDs, xid, func(e *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption) {
		p.builder.RecordHwGpuXidsDataPoint(p.ts, total, e.XID, p.device.ID, options...)
	})
}

// errorsOf calls record for each error count of the device that one metric is about.
func errorsOf(p *devicePoints, metric counter, about func(*gpu.ErrorCount) bool, record func(e *gpu.ErrorCount, total int64, options []metadata.MetricAttributeOption)) {
	for i := range p.device.Errors {
		e := &p.device.Errors[i]
		if !about(e) {
			continue
		}
		key := seriesKey{counter: metric, kind: uint8(e.Type), number: e.XID, name: e.Block}
		recordTotal(p, key, e.Count, func(total int64, options ...metadata.MetricAttributeOption) { record(e, total, options) })
	}
}

// isMemoryError reports whether e counts memory errors since the driver was loaded: the types of hw.errors.
func isMemoryError(e *gpu.ErrorCount) bool {
	switch e.Type {
	case gpu.ErrorCorrected, gpu.ErrorUncorrected, gpu.ErrorDeferred:
		return !e.Lifetime
	default:
		return false
	}
}

func isLinkError(e *gpu.ErrorCount) bool {
	switch e.Type {
	case gpu.ErrorLinkCRC, gpu.ErrorLinkReplay, gpu.ErrorLinkRecovery, gpu.ErrorLinkECC:
		return true
	default:
		return false
	}
}
