// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"math"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// sampled integrates the rates that the driver measures on demand, where its byte counters are of no use and we were asked to.
type sampled struct {
	since time.Time
	last  time.Time // zero where the GPU was away since
	bytes [2]float64
}

// readPCIeIO reads what went over the link to the host.
//
// The kernel's driver has 32 bits for each of the counters (pexCounters of NV2080_CTRL_BUS_GET_PEX_UTIL_COUNTERS_PARAMS), which a
// link at work fills several times a second. How often it did between two reads nobody knows, so they are of use only where one of
// them was seen to have more.
func (b *board) readPCIeIO(d *gpu.Device) {
	sent, haveSent := b.fields.get(fieldPCIeTransmitted)
	received, haveReceived := b.fields.get(fieldPCIeReceived)
	b.pcieWide = b.pcieWide || haveSent && sent.unsigned > math.MaxUint32 || haveReceived && received.unsigned > math.MaxUint32
	s := &b.sampled
	switch {
	case !s.since.IsZero():
	case b.pcieWide:
		d.PCIe.Transmitted = counted(b.fields.total(fieldPCIeTransmitted))
		d.PCIe.Received = counted(b.fields.total(fieldPCIeReceived))
		return
	case !b.src.cfg.PCIeSampling:
		return
	case haveSent && haveReceived, b.fields.lacks(fieldPCIeTransmitted) && b.fields.lacks(fieldPCIeReceived):
		s.since = b.at
	default:
		return // they could not be read this time
	}
	elapsed := 0.0
	if !s.last.IsZero() {
		elapsed = max(b.at.Sub(s.last), 0).Seconds()
	}
	s.last = b.at
	counters := [2]struct {
		kind gonvml.PcieUtilCounter
		to   *gpu.Counter[int64]
	}{{gonvml.PCIE_UTIL_TX_BYTES, &d.PCIe.Transmitted}, {gonvml.PCIE_UTIL_RX_BYTES, &d.PCIe.Received}}
	for i, c := range counters {
		if !b.can(fnPCIeThroughput) {
			return
		}
		// KB/s over 20 ms, in which the call does not return.
		kilobytes, ret := b.handle.GetPcieThroughput(c.kind)
		if rate, told := unsigned(kilobytes); b.ok(fnPCIeThroughput, code(ret)) && told {
			s.bytes[i] += rate.real * 1000 * elapsed
			*c.to = gpu.TotalSince(int64(s.bytes[i]), s.since)
		}
	}
}

// readPCIeLink reads generation and width as they are, and as they could be with this GPU in this machine.
func (b *board) readPCIeLink(d *gpu.Device) {
	d.PCIe.Generation = link(b.number(fnPCIeGeneration))
	d.PCIe.Width = link(b.number(fnPCIeWidth))
	if !b.static.generation.Known() && b.can(fnPCIeMaxGeneration) {
		if v, ret := b.handle.GetMaxPcieLinkGeneration(); b.ok(fnPCIeMaxGeneration, code(ret)) {
			b.static.generation = link(unsigned(uint32(v)))
		}
	}
	if !b.static.width.Known() && b.can(fnPCIeMaxWidth) {
		if v, ret := b.handle.GetMaxPcieLinkWidth(); b.ok(fnPCIeMaxWidth, code(ret)) {
			b.static.width = link(unsigned(uint32(v)))
		}
	}
	d.PCIe.GenerationLimit, d.PCIe.WidthLimit = b.static.generation, b.static.width
}

func (b *board) readPCIeReplay(d *gpu.Device) {
	n, ok := b.fields.total(fieldPCIeReplay)
	if b.fields.lacks(fieldPCIeReplay) {
		v, _ := b.number(fnPCIeReplay)
		n, ok = v.total()
	}
	if ok {
		d.Errors = append(d.Errors, gpu.ErrorCount{Type: gpu.ErrorPCIeReplay, Count: gpu.Total(n)})
	}
}
