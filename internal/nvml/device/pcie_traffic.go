// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"math"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var pcieThroughput = library.NewFunction("PCIe throughput", "nvmlDeviceGetPcieThroughput")

// pcieTraffic is what went over the link to the host, added up by us if the driver's counters cannot be used.
type pcieTraffic struct {
	gpm *gpm

	wide  bool // the driver's byte counters have more than 32 bits
	since time.Time
	until time.Time // zero after the driver was loaded again
	bytes [2]float64
}

// restart forgets what was learnt of the driver.
func (t *pcieTraffic) restart() {
	t.wide, t.until = false, time.Time{}
}

// read reads what went over the link to the host, in bytes.
//
// The kernel's driver has 32 bits for each of the counters (pexCounters of NV2080_CTRL_BUS_GET_PEX_UTIL_COUNTERS_PARAMS), which a busy link
// fills several times a second. The number of wraps between two reads is unknown, so they are used only if one of them was seen to
// have more bits.
func (t *pcieTraffic) read(dev *device, d *gpu.Device) {
	sent, haveSent := dev.fields.get(fieldPCIeTransmitted)
	received, haveReceived := dev.fields.get(fieldPCIeReceived)
	t.wide = t.wide || haveSent && sent.Unsigned > math.MaxUint32 || haveReceived && received.Unsigned > math.MaxUint32
	if t.since.IsZero() {
		switch {
		case t.wide:
			d.PCIe.Transmitted = count(dev.fields.count(fieldPCIeTransmitted))
			d.PCIe.Received = count(dev.fields.count(fieldPCIeReceived))
			return
		case haveSent && haveReceived, dev.fields.lacks(fieldPCIeTransmitted) && dev.fields.lacks(fieldPCIeReceived):
		default:
			return // they could not be read this time
		}
	}
	if t.sampled(dev.cfg) {
		t.add(dev, d)
	}
}

// sampled reports whether we add the traffic up, because the user enabled it and the driver does not. Once started, it stays so.
func (t *pcieTraffic) sampled(cfg *Config) bool {
	return cfg.PCIeSampling && cfg.Want.Has(gpu.GroupPCIeIO) && (!t.wide || !t.since.IsZero())
}

// add adds what went over the link since the last read: on Hopper and later what GPM measured, which leaves nothing out; else what it would
// have been if the link had been as busy all the time as it is now.
func (t *pcieTraffic) add(dev *device, d *gpu.Device) {
	if t.gpm.tooSoon(dev.at) {
		return
	}
	first, elapsed := t.until.IsZero(), time.Duration(0)
	if !first {
		elapsed = max(dev.at.Sub(t.until), 0)
	}
	if t.since.IsZero() {
		t.since = dev.at
	}
	t.until = dev.at
	rates, compared := t.gpm.pcieRates()
	if compared {
		elapsed = min(elapsed, t.gpm.span)
	} else if first && t.gpm.available(dev) {
		return // the next read has two samples to compare
	}
	kinds := [...]library.PCIeCounter{library.PCIeTransmitted, library.PCIeReceived}
	for i, to := range [...]*gpu.Counter[int64]{&d.PCIe.Transmitted, &d.PCIe.Received} {
		if !compared {
			if !dev.Can(pcieThroughput) {
				return
			}
			// KB/s over 20 ms, during which the call does not return.
			rate, ok := dev.value(pcieThroughput, numberOf(library.Device.GetPcieThroughput, kinds[i]))
			if !ok {
				continue
			}
			rates[i] = rate.Real * 1000
		}
		t.bytes[i] += rates[i] * elapsed.Seconds()
		*to = gpu.TotalSince(int64(t.bytes[i]), t.since)
	}
}
