// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// linkBytes are the last known bytes over the links of a device, by the place of the link in the list.
type linkBytes struct{ received, transmitted map[int]int64 }

// joined returns one record for each GPU: xgmi prints the traffic of all GPUs, and then the states of the links of all.
func joined(records []record) []record {
	var result []record
	places := make(map[int]int)
	for _, r := range records {
		index, ok := r.integer("gpu")
		i, known := places[index]
		if !ok || !known {
			places[index] = len(result)
			result = append(result, maps.Clone(r))
			continue
		}
		maps.Copy(result[i], r)
	}
	return result
}

// readXGMI fills a device with the links to the other GPUs of the machine: the traffic since the driver was loaded, in KB of 1024 bytes, the
// speed, and whether they are up. amd-smi calls it read what the device received, and written what it sent. The lists have a place for each
// GPU, also for the device itself, as N/A and SELF. A link that has no value in this read counts in the total with its last one: without
// that the total would fall, and its counter would start again.
func readXGMI(r record, want gpu.Group, d *gpu.Device, last *linkBytes) {
	metrics := r.section("link_metrics")
	if metrics == nil {
		metrics = r
	}
	list, _ := metrics["links"].([]any)
	states, _ := r["link_status"].([]any)
	speed := speedOf(metrics)
	received, transmitted := make(map[int]int64), make(map[int]int64)
	for i := range max(len(list), len(states)) {
		link, none := gpu.Link{Name: strconv.Itoa(i)}, gpu.Link{Name: strconv.Itoa(i)}
		var up gpu.Opt[bool]
		if i < len(states) {
			up = linkUp(states[i])
		}
		read, written := trafficOf(list, i)
		if n, ok := read.Get(); ok {
			received[i] = n
		}
		if n, ok := written.Get(); ok {
			transmitted[i] = n
		}
		if want.Has(gpu.GroupInterconnectLinks) {
			link.Received, link.Transmitted = totalOf(read), totalOf(written)
		}
		if want.Has(gpu.GroupInterconnectState) {
			link.Up = up
		}
		if want.Has(gpu.GroupInterconnectSpeed) && (up == gpu.Some(true) || !up.Known() && (read.Known() || written.Known())) {
			link.Bandwidth, link.Width = speed.Bandwidth, speed.Width
		}
		if link != none {
			d.Interconnect.Links = append(d.Interconnect.Links, link)
			d.Interconnect.Type = gpu.XGMI
		}
	}
	d.Interconnect.Received, last.received = sumOf(received, last.received)
	d.Interconnect.Transmitted, last.transmitted = sumOf(transmitted, last.transmitted)
	if d.Interconnect.Received.Known() || d.Interconnect.Transmitted.Known() {
		d.Interconnect.Type = gpu.XGMI
	}
}

func trafficOf(list []any, i int) (read, written gpu.Opt[int64]) {
	if i >= len(list) {
		return read, written
	}
	link, _ := list[i].(map[string]any)
	bytes := func(v any) gpu.Opt[int64] { return smitext.Whole(smitext.Quantity(v, smitext.Traffic, "KB")) }
	return bytes(link["read"]), bytes(link["write"])
}

// speedOf reads the speed of a link, which is the same for all: the bits a second of one lane, and of all lanes. It is absent for a GPU
// without links.
func speedOf(metrics record) gpu.Link {
	lane, ok := smitext.Quantity(metrics["bit_rate"], smitext.Bits, "Gb/s").Get()
	all, known := smitext.Quantity(metrics["max_bandwidth"], smitext.Bits, "Gb/s").Get()
	var link gpu.Link
	if known {
		link.Bandwidth = gpu.Some(all / 8)
	}
	if lanes := all / lane; ok && known && lanes == math.Trunc(lanes) {
		link.Width = smitext.Lanes(lanes)
	}
	return link
}

// linkUp reads U for a link that is up and D for one that is down, or several to the same GPU: U/U/D. It is true if all are up. A disabled
// link, X, does not count.
func linkUp(v any) gpu.Opt[bool] {
	text, _ := v.(string)
	var result gpu.Opt[bool]
	for state := range strings.SplitSeq(text, "/") {
		switch strings.ToUpper(strings.TrimSpace(state)) {
		case "U":
			result = gpu.Some(result != gpu.Some(false))
		case "D":
			result = gpu.Some(false)
		}
	}
	return result
}

// sumOf returns the bytes over all links, with the bytes of last for links that have no value now, and the last for the next read. The sum
// is absent if no link has a value now.
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
