// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// sampled integrates the rates that the driver measures on demand, where it has no byte counters and we were asked to.
type sampled struct {
	since time.Time
	last  time.Time // zero where the GPU was away since
	bytes [2]float64
}

func (b *board) readPCIeIO(d *gpu.Device) {
	counters := [2]struct {
		field field
		kind  gonvml.PcieUtilCounter
		to    *gpu.Counter[int64]
	}{
		{fieldPCIeTransmitted, gonvml.PCIE_UTIL_TX_BYTES, &d.PCIe.Transmitted},
		{fieldPCIeReceived, gonvml.PCIE_UTIL_RX_BYTES, &d.PCIe.Received},
	}
	for i, c := range counters {
		if v, ok := b.fields.get(c.field); ok {
			total, fits := bytes(b.pcie[i].add(v.unsigned, v.bits))
			*c.to = counted(total, fits)
		}
	}
	if !b.src.cfg.PCIeSampling || !b.fields.lacks(fieldPCIeTransmitted) || !b.fields.lacks(fieldPCIeReceived) {
		return
	}
	s := &b.sampled
	if s.since.IsZero() {
		s.since = b.at
	}
	elapsed := 0.0
	if !s.last.IsZero() {
		elapsed = max(b.at.Sub(s.last), 0).Seconds()
	}
	s.last = b.at
	for i, c := range counters {
		if !b.can(fnPCIeThroughput) {
			return
		}
		// KB/s over 20 ms, in which the call does not return.
		if rate, ret := b.handle.GetPcieThroughput(c.kind); b.ok(fnPCIeThroughput, code(ret)) {
			s.bytes[i] += float64(rate) * 1000 * elapsed
			*c.to = gpu.TotalSince(int64(s.bytes[i]), s.since)
		}
	}
}

// readPCIeLink reads generation and width as they are, and as they could be with this GPU in this machine.
func (b *board) readPCIeLink(d *gpu.Device) {
	if v, ok := b.ask(fnPCIeGeneration); ok {
		d.PCIe.Generation = known(int64(v.number()), v.number() > 0)
	}
	if v, ok := b.ask(fnPCIeWidth); ok {
		d.PCIe.Width = known(int64(v.number()), v.number() > 0)
	}
	if !b.static.generation.Known() && b.can(fnPCIeMaxGeneration) {
		if v, ret := b.handle.GetMaxPcieLinkGeneration(); b.ok(fnPCIeMaxGeneration, code(ret)) {
			b.static.generation = gpu.Some(int64(v))
		}
	}
	if !b.static.width.Known() && b.can(fnPCIeMaxWidth) {
		if v, ret := b.handle.GetMaxPcieLinkWidth(); b.ok(fnPCIeMaxWidth, code(ret)) {
			b.static.width = gpu.Some(int64(v))
		}
	}
	d.PCIe.GenerationLimit, d.PCIe.WidthLimit = b.static.generation, b.static.width
}

func (b *board) readPCIeReplay(d *gpu.Device) {
	n, ok := b.fields.total(fieldPCIeReplay)
	if b.fields.lacks(fieldPCIeReplay) {
		if v, answered := b.ask(fnPCIeReplay); answered {
			n, ok = int64(v.number()), true
		}
	}
	if ok {
		d.Errors = append(d.Errors, gpu.ErrorCount{Type: gpu.ErrorPCIeReplay, Count: gpu.Total(n)})
	}
}
