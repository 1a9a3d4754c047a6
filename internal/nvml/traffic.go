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

// traffic is what went over the link to the host, added up by us where the driver's totals are of no use.
type traffic struct {
	wide  bool // the driver's byte counters have more than 32 bits
	since time.Time
	until time.Time // zero where the GPU was away since
	bytes [2]float64
}

// renew drops what was learnt of the driver.
func (t *traffic) renew() {
	t.wide, t.until = false, time.Time{}
}

// readPCIeIO reads what went over the link to the host.
//
// The kernel's driver has 32 bits for each of the counters (pexCounters of NV2080_CTRL_BUS_GET_PEX_UTIL_COUNTERS_PARAMS), which a
// link at work fills several times a second. How often it did between two reads nobody knows, so they are of use only where one of
// them was seen to have more.
func (b *board) readPCIeIO(d *gpu.Device) {
	sent, haveSent := b.fields.get(fieldPCIeTransmitted)
	received, haveReceived := b.fields.get(fieldPCIeReceived)
	t := &b.traffic
	t.wide = t.wide || haveSent && sent.unsigned > math.MaxUint32 || haveReceived && received.unsigned > math.MaxUint32
	if t.since.IsZero() {
		switch {
		case t.wide:
			d.PCIe.Transmitted = counted(b.fields.total(fieldPCIeTransmitted))
			d.PCIe.Received = counted(b.fields.total(fieldPCIeReceived))
			return
		case haveSent && haveReceived, b.fields.lacks(fieldPCIeTransmitted) && b.fields.lacks(fieldPCIeReceived):
		default:
			return // they could not be read this time
		}
	}
	if b.addsTraffic() {
		b.addTraffic(d)
	}
}

// addsTraffic tells whether we were asked to add it up, and the driver does not. What has begun so stays so.
func (b *board) addsTraffic() bool {
	t := &b.traffic
	return b.src.cfg.PCIeSampling && b.src.want.Has(gpu.GroupPCIeIO) && (!t.wide || !t.since.IsZero())
}

// addTraffic adds what went over the link since the last read: what GPM saw, on Hopper and later, which leaves nothing out; else
// what it would have been, had the link been as busy all the time as it is now.
func (b *board) addTraffic(d *gpu.Device) {
	if b.gpm.tooSoon(b.at) {
		return
	}
	t := &b.traffic
	first, elapsed := t.until.IsZero(), time.Duration(0)
	if !first {
		elapsed = max(b.at.Sub(t.until), 0)
	}
	if t.since.IsZero() {
		t.since = b.at
	}
	t.until = b.at
	rates, compared := b.gpm.traffic()
	if compared {
		elapsed = min(elapsed, b.gpm.span)
	} else if first && b.gpm.awaited() {
		return // there is something to compare at the next read
	}
	kinds := [...]gonvml.PcieUtilCounter{gonvml.PCIE_UTIL_TX_BYTES, gonvml.PCIE_UTIL_RX_BYTES}
	for i, to := range [...]*gpu.Counter[int64]{&d.PCIe.Transmitted, &d.PCIe.Received} {
		if !compared {
			if !b.can(fnPCIeThroughput) {
				return
			}
			// KB/s over 20 ms, in which the call does not return.
			kilobytes, ret := b.handle.GetPcieThroughput(kinds[i])
			rate, told := unsigned(kilobytes)
			if !b.ok(fnPCIeThroughput, code(ret)) || !told {
				continue
			}
			rates[i] = rate.real * 1000
		}
		t.bytes[i] += rates[i] * elapsed.Seconds()
		*to = gpu.TotalSince(int64(t.bytes[i]), t.since)
	}
}
