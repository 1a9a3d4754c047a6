// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bytes"
	"math"
	"syscall"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func (b *board) pcie(d *gpu.Device) {
	if b.want.Has(gpu.GroupPCIeLink) && b.link != nil {
		p := &d.PCIe
		p.Generation = b.speed("current_link_speed").Or(b.metrics.linkGeneration)
		p.GenerationLimit = b.speed("max_link_speed")
		p.Width = b.width("current_link_width").Or(b.metrics.linkWidth)
		p.WidthLimit = b.width("max_link_width")
	}
	if b.want.Has(gpu.GroupPCIeReplay) {
		replays := b.number("PCIe replays", b.files.replays)
		if v, ok := b.metrics.replays.Get(); ok && !replays.Known() {
			replays = gpu.Some(int64(v & (1<<63 - 1)))
		}
		// Of a GPU that is off the bus both registers of 32 bits that the driver adds up read as ones.
		if v, ok := replays.Get(); ok && v >= 0 && v < math.MaxUint32 {
			d.Errors = append(d.Errors, gpu.ErrorCount{Type: gpu.ErrorPCIeReplay, Count: gpu.Total(v)})
		}
	}
}

func (b *board) speed(name string) gpu.Opt[int64] {
	text, ok := b.fileOf(b.link, "PCIe link", name)
	if !ok {
		return gpu.Opt[int64]{}
	}
	return pcieGeneration(text)
}

func (b *board) width(name string) gpu.Opt[int64] {
	text, ok := b.fileOf(b.link, "PCIe link", name)
	if !ok {
		return gpu.Opt[int64]{}
	}
	n, ok := parseUint(text)
	if !ok {
		return gpu.Opt[int64]{}
	}
	return lanes(n)
}

// interconnect sets the bytes over XGMI: what the GPU read from others it has received, what it wrote it has transmitted.
func (b *board) interconnect(d *gpu.Device) {
	if !b.want.Has(gpu.GroupInterconnect | gpu.GroupInterconnectLinks) {
		return
	}
	var read, written int64
	n := 0
	for i := range maxLinks {
		in, ok := b.metrics.xgmiRead[i].Get()
		out, also := b.metrics.xgmiWritten[i].Get()
		if !ok || !also || in > mostKiB || out > mostKiB {
			continue
		}
		n++
		read += int64(in) * kibi
		written += int64(out) * kibi
		if b.want.Has(gpu.GroupInterconnectLinks) {
			d.Interconnect.Links = append(d.Interconnect.Links, gpu.Link{
				Name:        string(appendUint(nil, uint64(i))),
				Received:    gpu.Total(int64(in) * kibi),
				Transmitted: gpu.Total(int64(out) * kibi),
			})
		}
	}
	if n == 0 {
		return
	}
	d.Interconnect.Type = gpu.XGMI
	if b.want.Has(gpu.GroupInterconnect) {
		d.Interconnect.Received, d.Interconnect.Transmitted = gpu.Total(read), gpu.Total(written)
	}
}

const (
	kibi    = 1 << 10
	mostKiB = 1<<50 - 1
)

// errorCounts reads the RAS counts of the IP blocks: "ue: 0\nce: 3\nde: 1\n", uncorrected, corrected and, with newer
// drivers, deferred.
func (b *board) errorCounts(d *gpu.Device) {
	for _, block := range b.files.blocks {
		text, ok := b.file("errors", block.file)
		if !ok {
			continue
		}
		if bytes.HasPrefix(text, []byte("Query currently inaccessible")) {
			b.refuse("errors", block.file, syscall.EBUSY)
			continue
		}
		before := len(d.Errors)
		if d.Errors = appendCounts(d.Errors, block.name, text); len(d.Errors) == before {
			b.garbled("errors", block.file)
		}
	}
}

func appendCounts(to []gpu.ErrorCount, block string, text []byte) []gpu.ErrorCount {
	for len(text) > 0 {
		var line []byte
		line, text = nextLine(text)
		key, count, ok := bytes.Cut(line, []byte{':'})
		n, valid := parseUint(count)
		if !ok || !valid || n > 1<<62 {
			continue
		}
		var kind gpu.ErrorType
		switch string(bytes.TrimSpace(key)) {
		case "ue":
			kind = gpu.ErrorUncorrected
		case "ce":
			kind = gpu.ErrorCorrected
		case "de":
			kind = gpu.ErrorDeferred
		default:
			continue
		}
		to = append(to, gpu.ErrorCount{Type: kind, Block: block, Count: gpu.Total(int64(n))})
	}
	return to
}
