// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	kibi    = 1 << 10
	mostKiB = 1<<50 - 1
)

// xgmiCounters follows the bytes over XGMI.
type xgmiCounters struct{ read, written xgmiDirection }

// xgmiDirection has the last known bytes of each link in one direction.
type xgmiDirection [gpumetrics.MaxLinks]gpu.Opt[int64]

// set sets the bytes over XGMI: what the GPU read from others it has received, what it wrote it has transmitted.
func (x *xgmiCounters) set(want gpu.Group, table *gpumetrics.Table, d *gpu.Device) {
	in, received := x.read.add(table.XGMIRead[:], table.XGMIReadSum)
	out, transmitted := x.written.add(table.XGMIWritten[:], table.XGMIWrittenSum)
	for i := range in {
		if want.Has(gpu.GroupInterconnectLinks) && (in[i].Known() || out[i].Known()) {
			d.Interconnect.Links = append(d.Interconnect.Links, gpu.Link{Name: strconv.Itoa(i), Received: in[i], Transmitted: out[i]})
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

// bytesOf converts KiB to bytes. A value beyond any link's is none.
func bytesOf(kib gpu.Opt[uint64]) gpu.Opt[int64] {
	v, ok := kib.Get()
	if !ok || v > mostKiB {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(int64(v) * kibi)
}
