// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	kibi   = 1 << 10
	maxKiB = 1<<50 - 1
)

// xgmiGroups are the groups of the links to other GPUs.
const xgmiGroups = gpu.GroupInterconnect | gpu.GroupInterconnectLinks | gpu.GroupInterconnectState | gpu.GroupInterconnectSpeed

// xgmiLinks follows the links to other GPUs.
type xgmiLinks struct {
	read, written xgmiDirection
	linked        bool // some link was up, or had bytes, at some read
}

// xgmiDirection has the last known bytes of each link in one direction.
type xgmiDirection [gpumetrics.MaxLinks]gpu.Opt[int64]

// set sets what is known of the links: what the GPU read from others it has received, what it wrote it has transmitted.
func (x *xgmiLinks) set(want gpu.Group, table *gpumetrics.Table, d *gpu.Device) {
	reads, received := x.read.add(table.XGMIRead[:], table.XGMIReadSum)
	writes, transmitted := x.written.add(table.XGMIWritten[:], table.XGMIWrittenSum)
	for i, up := range table.XGMIUp {
		n, _ := reads[i].Get()
		m, _ := writes[i].Get()
		x.linked = x.linked || up == gpu.Some(true) || n > 0 || m > 0
	}
	for i := range reads {
		link := gpu.Link{Name: strconv.Itoa(i)}
		none := link
		if want.Has(gpu.GroupInterconnectLinks) {
			link.Received, link.Transmitted = reads[i], writes[i]
		}
		up, stated := table.XGMIUp[i].Get()
		if want.Has(gpu.GroupInterconnectState) && x.linked {
			link.Up = table.XGMIUp[i]
		}
		if want.Has(gpu.GroupInterconnectSpeed) && (up || !stated && (reads[i].Known() || writes[i].Known())) {
			link.Width, link.Bandwidth = xgmiWidth(table), xgmiBandwidth(table)
		}
		if link != none {
			d.Interconnect.Links = append(d.Interconnect.Links, link)
			d.Interconnect.Type = gpu.XGMI
		}
	}
	if !received.Known() && !transmitted.Known() {
		return
	}
	d.Interconnect.Type = gpu.XGMI
	if want.Has(gpu.GroupInterconnect) {
		d.Interconnect.Received, d.Interconnect.Transmitted = received, transmitted
	}
}

// add returns the bytes of each link, and of all links together. A link that the table does not have in this read counts in the total
// with its last known bytes: without them the total would fall, and its counter would start again.
func (x *xgmiDirection) add(links []gpu.Opt[uint64], sum gpu.Opt[uint64]) (now [gpumetrics.MaxLinks]gpu.Counter[int64], total gpu.Counter[int64]) {
	var bytes int64
	known := false
	for i := range links {
		if v, ok := bytesOf(links[i]).Get(); ok {
			known = true
			now[i], x[i] = gpu.Total(v), gpu.Some(v)
		}
		last, _ := x[i].Get()
		bytes += last
	}
	if known {
		return now, gpu.Total(bytes)
	}
	if v, ok := bytesOf(sum).Get(); ok {
		total = gpu.Total(v)
	}
	return now, total
}

// bytesOf converts KiB to bytes. It drops a value that no link can reach.
func bytesOf(kib gpu.Opt[uint64]) gpu.Opt[int64] {
	v, ok := kib.Get()
	if !ok || v > maxKiB {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(v) * kibi)
}

// The most lanes of a link, and Gbit/s of a lane, that a table can mean.
const (
	maxLanes = 64
	maxGbps  = 1000
)

func xgmiWidth(table *gpumetrics.Table) gpu.Opt[int64] {
	lanes, ok := table.XGMIWidth.Get()
	if !ok || lanes < 1 || lanes > maxLanes {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(lanes))
}

// xgmiBandwidth returns the bytes a second of a link in one direction: the bits of each lane, by the lanes.
func xgmiBandwidth(table *gpumetrics.Table) gpu.Opt[float64] {
	lanes, ok := xgmiWidth(table).Get()
	gbps, known := table.XGMISpeed.Get()
	if !ok || !known || gbps < 1 || gbps > maxGbps {
		return gpu.Opt[float64]{}
	}
	const bitsPerByte = 8
	return gpu.Some(float64(lanes) * float64(gbps) * 1e9 / bitsPerByte)
}
