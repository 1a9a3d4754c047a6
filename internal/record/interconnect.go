// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

const (
	transmit = metadata.AttributeNetworkIoDirectionTransmit
	receive  = metadata.AttributeNetworkIoDirectionReceive
)

// recordInterconnectIO records the bytes over all links to other GPUs.
func recordInterconnectIO(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	record := func(direction metadata.AttributeNetworkIoDirection, bytes gpu.Counter[int64]) {
		key := seriesKey{counter: counterInterconnect, kind: uint8(direction)}
		recordTotal(p, key, bytes, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuInterconnectIoDataPoint(p.ts, total, technology, p.device.ID, direction, options...)
		})
	}
	record(transmit, p.device.Interconnect.Transmitted)
	record(receive, p.device.Interconnect.Received)
}

func recordLinkIO(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	record := func(link string, direction metadata.AttributeNetworkIoDirection, bytes gpu.Counter[int64]) {
		key := seriesKey{counter: counterLink, kind: uint8(direction), name: link}
		recordTotal(p, key, bytes, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuInterconnectLinkIoDataPoint(p.ts, total, link, technology, p.device.ID, direction, options...)
		})
	}
	for i := range p.device.Interconnect.Links {
		link := &p.device.Interconnect.Links[i]
		record(link.Name, transmit, link.Transmitted)
		record(link.Name, receive, link.Received)
	}
}

// recordInterconnectErrors records the errors of all links to other GPUs.
func recordInterconnectErrors(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	for kind, count := range p.device.Interconnect.Errors {
		key := seriesKey{counter: counterInterconnectErrors, kind: uint8(kind)}
		recordTotal(p, key, count, func(total int64, options ...metadata.MetricAttributeOption) {
			p.builder.RecordHwGpuInterconnectErrorsDataPoint(p.ts, total, linkErrorTypes[kind], technology, p.device.ID, options...)
		})
	}
}

func recordLinkErrors(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	for _, link := range p.device.Interconnect.Links {
		for kind, count := range link.Errors {
			key := seriesKey{counter: counterLinkErrors, kind: uint8(kind), name: link.Name}
			recordTotal(p, key, count, func(total int64, options ...metadata.MetricAttributeOption) {
				p.builder.RecordHwGpuInterconnectLinkErrorsDataPoint(p.ts, total, linkErrorTypes[kind], link.Name, technology, p.device.ID, options...)
			})
		}
	}
}
