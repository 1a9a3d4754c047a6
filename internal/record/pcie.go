// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// recordPCIeIO records the bytes over the link to the host.
func recordPCIeIO(p *devicePoints) {
	record := func(direction metadata.AttributeNetworkIoDirection, bytes gpu.Counter[int64]) {
		key := seriesKey{counter: counterPCIe, kind: uint8(direction)}
		recordTotal(p, key, bytes, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuIoDataPoint(p.ts, total, p.device.ID, direction, options...)
		})
	}
	record(transmit, p.device.PCIe.Transmitted)
	record(receive, p.device.PCIe.Received)
}

// recordPCIeReplays records the packets that had to be sent again over the link to the host.
func recordPCIeReplays(p *devicePoints) {
	recordTotal(p, seriesKey{counter: counterPCIeReplays}, p.device.PCIe.Replays, func(total int64, options ...metadata.MetricAttributeOption) {
		p.builder.RecordHwGpuPcieReplaysDataPoint(p.ts, total, p.device.ID, options...)
	})
}

// recordPCIeErrors records what the kernel counted at each end of the link to the host. The kernel's counters go on when the GPU's driver starts again.
func recordPCIeErrors(p *devicePoints) {
	for device, counts := range p.device.PCIe.Errors {
		for kind, count := range counts {
			key := seriesKey{counter: counterPCIeErrors, kind: uint8(kind), number: int64(device)}
			recordTotalOf(p, kernelEpoch, key, count, func(total int64, options ...metadata.MetricAttributeOption) {
				p.builder.RecordHwGpuPcieErrorsDataPoint(p.ts, total, pcieErrorTypes[kind], pcieDevices[device], p.device.ID, options...)
			})
		}
	}
}

func recordPCIeNAKs(p *devicePoints) {
	record := func(direction metadata.AttributeNetworkIoDirection, count gpu.Counter[int64]) {
		key := seriesKey{counter: counterPCIeNAKs, kind: uint8(direction)}
		recordTotal(p, key, count, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuPcieNaksDataPoint(p.ts, total, p.device.ID, direction, options...)
		})
	}
	record(transmit, p.device.PCIe.NAKsTransmitted)
	record(receive, p.device.PCIe.NAKsReceived)
}

func recordPCIeRollovers(p *devicePoints) {
	recordTotal(p, seriesKey{counter: counterPCIeRollovers}, p.device.PCIe.ReplayRollovers, func(total int64, options ...metadata.MetricAttributeOption) {
		p.builder.RecordHwGpuPcieReplayRolloversDataPoint(p.ts, total, p.device.ID, options...)
	})
}

func recordPCIeRecoveries(p *devicePoints) {
	recordTotal(p, seriesKey{counter: counterPCIeRecoveries}, p.device.PCIe.Recoveries, func(total int64, options ...metadata.MetricAttributeOption) {
		p.builder.RecordHwGpuPcieRecoveriesDataPoint(p.ts, total, p.device.ID, options...)
	})
}
