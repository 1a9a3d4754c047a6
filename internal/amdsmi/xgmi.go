// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readXGMI fills a device with the traffic over its links: what it received is called read, what it sent written, in KB of
// 1024 bytes since the driver was loaded. The device itself is in the list, with N/A.
func readXGMI(r record, d *gpu.Device, links bool) {
	metrics := r.section("link_metrics")
	if metrics == nil {
		metrics = r
	}
	list, _ := metrics["links"].([]any)
	var received, sent gpu.Opt[int64]
	for i, l := range list {
		link, ok := l.(map[string]any)
		if !ok {
			continue
		}
		read := smitext.Whole(smitext.Quantity(link["read"], smitext.Traffic, "KB"))
		written := smitext.Whole(smitext.Quantity(link["write"], smitext.Traffic, "KB"))
		received, sent = sum(received, read), sum(sent, written)
		if links && (read.Known() || written.Known()) {
			d.Interconnect.Links = append(d.Interconnect.Links, gpu.Link{
				Name: strconv.Itoa(i), Received: totalOf(read), Transmitted: totalOf(written),
			})
		}
	}
	if received.Known() || sent.Known() {
		d.Interconnect.Type = gpu.XGMI
		d.Interconnect.Received, d.Interconnect.Transmitted = totalOf(received), totalOf(sent)
	}
}

// sum adds a value that was read to a sum.
func sum(s, v gpu.Opt[int64]) gpu.Opt[int64] {
	n, ok := v.Get()
	if !ok {
		return s
	}
	before, _ := s.Get()
	return gpu.Some(before + n)
}

func totalOf(v gpu.Opt[int64]) gpu.Counter[int64] {
	n, ok := v.Get()
	if !ok {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(n)
}
