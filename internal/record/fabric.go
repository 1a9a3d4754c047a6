// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// recordFabricState records 1 for the state in the NVLink fabric, 0 for each earlier state of the GPU.
func recordFabricState(p *devicePoints) {
	current, ok := p.device.Fabric.State.Get()
	if !ok {
		return
	}
	p.past.fabricStates[current] = true
	for state, recorded := range p.past.fabricStates {
		if recorded {
			p.builder.RecordHwGpuFabricStateDataPoint(p.ts, flag(current == gpu.FabricState(state)), fabricStates[state], p.device.ID, p.identity...)
		}
	}
}

// recordFabricConditions records 1 for each condition that holds, 0 for each that has held and does not any more. A condition that the
// driver does not report has no point.
func recordFabricConditions(p *devicePoints) {
	for condition, value := range p.device.Fabric.Conditions {
		holds, ok := value.Get()
		if holds {
			p.past.fabricConditions[condition] = true
		}
		if ok && p.past.fabricConditions[condition] {
			p.builder.RecordHwGpuFabricConditionDataPoint(p.ts, flag(holds), fabricConditions[condition], p.device.ID, p.identity...)
		}
	}
}

// recordPeers records what the GPU can do with each other GPU.
func recordPeers(p *devicePoints) {
	for i := range p.device.Peers {
		peer := &p.device.Peers[i]
		for capability, value := range peer.Capabilities {
			if ok, known := value.Get(); known {
				p.builder.RecordHwGpuPeerStatusDataPoint(p.ts, flag(ok), peerCapabilities[capability], peer.ID, p.device.ID, p.identity...)
			}
		}
	}
}

// recordLinkCount records how many links are up and how many are down.
func recordLinkCount(p *devicePoints) {
	var up, down int64
	for i := range p.device.Interconnect.Links {
		switch works, ok := p.device.Interconnect.Links[i].Up.Get(); {
		case works:
			up++
		case ok:
			down++
		}
	}
	if up+down == 0 {
		return
	}
	technology := linkTypes[p.device.Interconnect.Type]
	p.builder.RecordHwGpuInterconnectLinkCountDataPoint(p.ts, up, metadata.AttributeHwGpuInterconnectLinkStateUp, technology, p.device.ID, p.identity...)
	p.builder.RecordHwGpuInterconnectLinkCountDataPoint(p.ts, down, metadata.AttributeHwGpuInterconnectLinkStateDown, technology, p.device.ID, p.identity...)
}

func recordLinkStates(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	for i := range p.device.Interconnect.Links {
		link := &p.device.Interconnect.Links[i]
		if up, ok := link.Up.Get(); ok {
			p.builder.RecordHwGpuInterconnectLinkStateDataPoint(p.ts, flag(up), link.Name, metadata.AttributeHwGpuInterconnectLinkStateUp, technology, p.device.ID, p.identity...)
			p.builder.RecordHwGpuInterconnectLinkStateDataPoint(p.ts, flag(!up), link.Name, metadata.AttributeHwGpuInterconnectLinkStateDown, technology, p.device.ID, p.identity...)
		}
	}
}

func recordLinkBandwidths(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	for i := range p.device.Interconnect.Links {
		link := &p.device.Interconnect.Links[i]
		if v, ok := link.Bandwidth.Get(); ok {
			p.builder.RecordHwGpuInterconnectLinkBandwidthDataPoint(p.ts, v, link.Name, technology, p.device.ID, p.identity...)
		}
	}
}

func recordLinkWidths(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	for i := range p.device.Interconnect.Links {
		link := &p.device.Interconnect.Links[i]
		if v, ok := link.Width.Get(); ok {
			p.builder.RecordHwGpuInterconnectLinkWidthDataPoint(p.ts, v, link.Name, technology, p.device.ID, p.identity...)
		}
	}
}

func recordBitErrorRatios(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	for i := range p.device.Interconnect.Links {
		link := &p.device.Interconnect.Links[i]
		for kind, name := range bitErrorTypes {
			if v, ok := link.BitErrorRatio[kind].Get(); ok {
				p.builder.RecordHwGpuInterconnectLinkBitErrorRatioDataPoint(p.ts, v, name, link.Name, technology, p.device.ID, p.identity...)
			}
		}
	}
}

func recordFEC(p *devicePoints) {
	technology := linkTypes[p.device.Interconnect.Type]
	for i := range p.device.Interconnect.Links {
		link := &p.device.Interconnect.Links[i]
		for bin, count := range link.FEC {
			key := seriesKey{counter: counterFEC, number: int64(bin), name: link.Name}
			recordTotal(p, key, count, func(total int64, options ...metadata.MetricAttributeOption) {
				p.builder.RecordHwGpuInterconnectLinkFecErrorsDataPoint(p.ts, total, int64(bin), link.Name, technology, p.device.ID, options...)
			})
		}
	}
}
