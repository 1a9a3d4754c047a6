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

func (p *point) pcie() {
	d, opts := p.device, p.id.gauge()
	p.pcieBytes(transmit, d.PCIe.Transmitted)
	p.pcieBytes(receive, d.PCIe.Received)
	if v, ok := d.PCIe.Generation.Get(); ok {
		p.mb.RecordHwGpuPcieGenerationDataPoint(p.ts, v, d.ID, opts...)
	}
	if v, ok := d.PCIe.GenerationLimit.Get(); ok {
		p.mb.RecordHwGpuPcieGenerationLimitDataPoint(p.ts, v, d.ID, opts...)
	}
	if v, ok := d.PCIe.Width.Get(); ok {
		p.mb.RecordHwGpuPcieWidthDataPoint(p.ts, v, d.ID, opts...)
	}
	if v, ok := d.PCIe.WidthLimit.Get(); ok {
		p.mb.RecordHwGpuPcieWidthLimitDataPoint(p.ts, v, d.ID, opts...)
	}
}

func (p *point) pcieBytes(direction metadata.AttributeNetworkIoDirection, bytes gpu.Counter[int64]) {
	recordTotal(p, seriesKey{metric: counterPCIe, kind: uint8(direction)}, bytes, func(total int64) {
		p.mb.RecordHwGpuIoDataPoint(p.ts, total, p.device.ID, direction, p.id.counter()...)
	})
}

func (p *point) interconnect() {
	ic := &p.device.Interconnect
	p.interconnectBytes(transmit, ic.Transmitted)
	p.interconnectBytes(receive, ic.Received)
	for i := range ic.Links {
		link := &ic.Links[i]
		p.linkBytes(link.Name, transmit, link.Transmitted)
		p.linkBytes(link.Name, receive, link.Received)
		for _, e := range link.Errors {
			p.linkErrors(link.Name, e)
		}
	}
}

func (p *point) interconnectBytes(direction metadata.AttributeNetworkIoDirection, bytes gpu.Counter[int64]) {
	kind := linkTypes[p.device.Interconnect.Type]
	recordTotal(p, seriesKey{metric: counterInterconnect, kind: uint8(direction)}, bytes, func(total int64) {
		p.mb.RecordHwGpuInterconnectIoDataPoint(p.ts, total, kind, p.device.ID, direction, p.id.counter()...)
	})
}

func (p *point) linkBytes(link string, direction metadata.AttributeNetworkIoDirection, bytes gpu.Counter[int64]) {
	kind := linkTypes[p.device.Interconnect.Type]
	recordTotal(p, seriesKey{metric: counterLink, kind: uint8(direction), name: link}, bytes, func(total int64) {
		p.mb.RecordHwGpuInterconnectLinkIoDataPoint(p.ts, total, link, kind, p.device.ID, direction, p.id.counter()...)
	})
}

func (p *point) linkErrors(link string, e gpu.ErrorCount) {
	kind := linkTypes[p.device.Interconnect.Type]
	recordTotal(p, seriesKey{metric: counterLinkErrors, kind: uint8(e.Type), name: link}, e.Count, func(total int64) {
		p.mb.RecordHwGpuInterconnectLinkErrorsDataPoint(p.ts, total, errorTypes[e.Type], link, kind, p.device.ID, p.id.counter()...)
	})
}
