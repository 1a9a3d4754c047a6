// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

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
