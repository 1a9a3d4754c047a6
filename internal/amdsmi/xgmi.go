// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"maps"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// linkBytes are the last known bytes over the links of a device, by the place of the link in the list.
type linkBytes struct{ received, sent map[int]int64 }

// readXGMI fills a device with the traffic over its links since the driver was loaded, in KB of 1024 bytes: amd-smi calls it read what the
// device received, and written what it sent. The list includes the device itself, as N/A. A link that has no value in this read counts in
// the total with its last one: without that the total would fall, and its counter would start again.
func readXGMI(r record, d *gpu.Device, links bool, last *linkBytes) {
	metrics := r.section("link_metrics")
	if metrics == nil {
		metrics = r
	}
	list, _ := metrics["links"].([]any)
	received, sent := make(map[int]int64), make(map[int]int64)
	for i, l := range list {
		link, ok := l.(map[string]any)
		if !ok {
			continue
		}
		read := smitext.Whole(smitext.Quantity(link["read"], smitext.Traffic, "KB"))
		written := smitext.Whole(smitext.Quantity(link["write"], smitext.Traffic, "KB"))
		if n, ok := read.Get(); ok {
			received[i] = n
		}
		if n, ok := written.Get(); ok {
			sent[i] = n
		}
		if links && (read.Known() || written.Known()) {
			d.Interconnect.Links = append(d.Interconnect.Links, gpu.Link{
				Name: strconv.Itoa(i), Received: totalOf(read), Transmitted: totalOf(written),
			})
		}
	}
	d.Interconnect.Received, last.received = sumOf(received, last.received)
	d.Interconnect.Transmitted, last.sent = sumOf(sent, last.sent)
	if d.Interconnect.Received.Known() || d.Interconnect.Transmitted.Known() {
		d.Interconnect.Type = gpu.XGMI
	}
}

// sumOf returns the bytes over all links, with those of last for links that have no value now, and what is last for the next read. The sum
// is absent where no link has a value now.
func sumOf(now, last map[int]int64) (total gpu.Counter[int64], next map[int]int64) {
	next = maps.Clone(now)
	for link, bytes := range last {
		if _, known := next[link]; !known {
			next[link] = bytes
		}
	}
	if len(now) == 0 {
		return total, next
	}
	var sum int64
	for _, bytes := range next {
		sum += bytes
	}
	return gpu.Total(sum), next
}

func totalOf(v gpu.Opt[int64]) gpu.Counter[int64] {
	n, ok := v.Get()
	if !ok {
		return gpu.Counter[int64]{}
	}
	return gpu.Total(n)
}
