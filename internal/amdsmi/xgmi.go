// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readXGMI fills a device with the traffic over its links since the driver was loaded, in KB of 1024 bytes: amd-smi calls it read what the
// device received, and written what it sent. The list includes the device itself, as N/A.
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

// sum adds a value to a sum; either may be absent.
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
