// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"math"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var pcieRows = []quantity{
	{
		group: gpu.GroupPCIeLink, name: "PCIe generation",
		symbol: "nvmlDeviceGetCurrPcieLinkGeneration", call: number(library.Device.GetCurrPcieLinkGeneration),
		set: unitSetter(pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.Generation }),
	},
	{
		group: gpu.GroupPCIeLink, name: "PCIe width",
		symbol: "nvmlDeviceGetCurrPcieLinkWidth", call: number(library.Device.GetCurrPcieLinkWidth),
		basis: func(d *gpu.Device) gpu.Opt[int64] { return d.PCIe.Generation },
		set:   unitSetter(pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.Width }),
	},
	{
		group: gpu.GroupPCIeLink, name: "PCIe generation", constant: true,
		symbol: "nvmlDeviceGetMaxPcieLinkGeneration", call: number(library.Device.GetMaxPcieLinkGeneration),
		set: unitSetter(pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.GenerationLimit }),
	},
	{
		group: gpu.GroupPCIeLink, name: "PCIe width", constant: true,
		symbol: "nvmlDeviceGetMaxPcieLinkWidth", call: number(library.Device.GetMaxPcieLinkWidth),
		set: unitSetter(pcieLink, func(d *gpu.Device) *gpu.Opt[int64] { return &d.PCIe.WidthLimit }),
	},
	{
		group: gpu.GroupPCIeReplay, name: "PCIe replays",
		fields: []fieldID{{gonvml.FI_DEV_PCIE_REPLAY_COUNTER, 0}},
		symbol: "nvmlDeviceGetPcieReplayCounter", call: number(library.Device.GetPcieReplayCounter),
		set: unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.Replays }),
	},
	{
		group: gpu.GroupPCIeDetail, name: "PCIe replay rollovers",
		fields: []fieldID{{gonvml.FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER, 0}},
		set:    unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.ReplayRollovers }),
	},
	{
		group: gpu.GroupPCIeDetail, name: "PCIe recoveries",
		fields: []fieldID{{gonvml.FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER, 0}},
		set:    unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.Recoveries }),
	},
	{
		group: gpu.GroupPCIeDetail, name: "PCIe NAKs",
		fields: []fieldID{{gonvml.FI_DEV_PCIE_COUNT_NAKS_RECEIVED, 0}},
		set:    unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.NAKsReceived }),
	},
	{
		group: gpu.GroupPCIeDetail, name: "PCIe NAKs",
		fields: []fieldID{{gonvml.FI_DEV_PCIE_COUNT_NAKS_SENT, 0}},
		set:    unitSetter(counter, func(d *gpu.Device) *gpu.Counter[int64] { return &d.PCIe.NAKsTransmitted }),
	},
}

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
	transmitted, haveTransmitted := dev.fields.get(rowPCIeTransmitted)
	received, haveReceived := dev.fields.get(rowPCIeReceived)
	t.wide = t.wide || haveTransmitted && transmitted.Unsigned > math.MaxUint32 || haveReceived && received.Unsigned > math.MaxUint32
	if t.since.IsZero() {
		switch {
		case t.wide:
			d.PCIe.Transmitted = count(dev.fields.count(rowPCIeTransmitted))
			d.PCIe.Received = count(dev.fields.count(rowPCIeReceived))
			return
		case haveTransmitted && haveReceived, dev.fields.lacks(rowPCIeTransmitted) && dev.fields.lacks(rowPCIeReceived):
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
	if t.gpm.tooSoon(dev.readTime) {
		return
	}
	first, elapsed := t.until.IsZero(), time.Duration(0)
	if !first {
		elapsed = max(dev.readTime.Sub(t.until), 0)
	}
	if t.since.IsZero() {
		t.since = dev.readTime
	}
	t.until = dev.readTime
	rates, compared := t.gpm.pcieRates()
	if compared {
		elapsed = min(elapsed, t.gpm.span)
	} else if first && t.gpm.available(dev) {
		return // the next read has two samples to compare
	}
	kinds := [...]library.PCIeCounter{library.PCIeTransmitted, library.PCIeReceived}
	for i, target := range [...]*gpu.Counter[int64]{&d.PCIe.Transmitted, &d.PCIe.Received} {
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
		*target = gpu.TotalSince(int64(t.bytes[i]), t.since)
	}
}
