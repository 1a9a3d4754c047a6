// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"maps"
	"time"

	"github.com/otelgpu/gpureceiver/internal/counter"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// maxPower is more than any GPU draws, in watts: for energy if no power limit was read.
	maxPower = 10_000
	// maxThrottled is how much longer than the time between two reads a GPU can seem to have been throttled: the counter is not read at
	// exactly the time of the read.
	maxThrottled = 1.5
	// forgetCounters is how long a counter is remembered after it was last read.
	forgetCounters = time.Hour
)

// deviceCounters removes from each read the totals of devices that may be wrong, before attribution and the record use them. A doubtful total is
// absent until the next read confirms it. After a confirmed reset, the total has the time of the reset as its start.
type deviceCounters struct {
	devices map[string]*deviceTotals // by hw.id
}

// deviceTotals is what is known of the counters of one device.
type deviceTotals struct {
	lastRead time.Time
	epoch    uint64
	limit    gpu.Opt[float64] // power limit in watts: the highest one of the last read that had any
	totals   map[totalKey]*checked
}

// totalKey identifies a counter of a device.
type totalKey struct {
	quantity quantity
	a, b     int    // which counter of the quantity, such as the kind of error; 0 if one is enough
	name     string // block or link
}

// quantity is a counter in a totalKey.
type quantity uint8

const (
	quantityEnergy quantity = iota
	quantityThrottleTime
	quantityTransmitted
	quantityReceived
	quantityPCIeReplays
	quantityPCIeErrors
	quantityPCIeNAKs
	quantityPCIeRollovers
	quantityPCIeRecoveries
	quantityInterconnectErrors
	quantityLinkTransmitted
	quantityLinkReceived
	quantityLinkErrors
	quantityLinkFEC
	quantityErrors
	quantityECCMemory
	quantityECCLocation
	quantityXIDs
	quantityRowsRemapped
	quantityPagesRetired
)

// checked is what is known of one counter.
type checked struct {
	check    counter.Check
	lastRead time.Time
	epoch    uint64
	source   time.Time       // since when the source counts, if it knows
	reset    counter.Reading // after the last reset that was seen; the zero Reading if there was no reset
}

// check removes the doubtful totals from a read.
func (c *deviceCounters) check(node *gpu.Node) {
	if c.devices == nil {
		c.devices = map[string]*deviceTotals{}
	}
	for i := range node.Devices {
		d := &node.Devices[i]
		totals := c.devices[d.ID]
		if totals == nil {
			if len(c.devices) >= maxRemembered {
				continue
			}
			totals = &deviceTotals{totals: map[totalKey]*checked{}}
			c.devices[d.ID] = totals
		}
		totals.lastRead, totals.epoch = node.Time, d.Epoch
		totals.check(d)
	}
	maps.DeleteFunc(c.devices, func(_ string, totals *deviceTotals) bool { return node.Time.Sub(totals.lastRead) > forgetCounters })
}

// check removes the doubtful totals from a device.
func (c *deviceTotals) check(d *gpu.Device) {
	c.setLimit(&d.Power)
	checkTotal(c, totalKey{quantity: quantityEnergy}, &d.Energy, counter.MaxPower(c.limit.Or(gpu.Some(float64(maxPower)))))
	for reason := range d.Throttle {
		checkTotal(c, totalKey{quantity: quantityThrottleTime, a: reason}, &d.Throttle[reason].Time, maxThrottled)
	}
	c.checkPCIe(&d.PCIe)
	c.checkInterconnect(&d.Interconnect)
	c.checkMemory(d)
	for i := range d.XIDs {
		checkCount(c, totalKey{quantity: quantityXIDs, a: int(d.XIDs[i].XID)}, &d.XIDs[i].Count)
	}
	maps.DeleteFunc(c.totals, func(_ totalKey, entry *checked) bool { return c.lastRead.Sub(entry.lastRead) > forgetCounters })
}

func (c *deviceTotals) checkPCIe(p *gpu.PCIe) {
	checkCount(c, totalKey{quantity: quantityTransmitted}, &p.Transmitted)
	checkCount(c, totalKey{quantity: quantityReceived}, &p.Received)
	checkCount(c, totalKey{quantity: quantityPCIeReplays}, &p.Replays)
	// The kernel counts these errors, and keeps counting when the GPU's driver starts again: a new epoch of the driver does not start them again.
	kernel := &deviceTotals{lastRead: c.lastRead, totals: c.totals}
	for device := range p.Errors {
		for kind := range p.Errors[device] {
			checkCount(kernel, totalKey{quantity: quantityPCIeErrors, a: device, b: kind}, &p.Errors[device][kind])
		}
	}
	checkCount(c, totalKey{quantity: quantityPCIeNAKs}, &p.NAKsTransmitted)
	checkCount(c, totalKey{quantity: quantityPCIeNAKs, a: 1}, &p.NAKsReceived)
	checkCount(c, totalKey{quantity: quantityPCIeRollovers}, &p.ReplayRollovers)
	checkCount(c, totalKey{quantity: quantityPCIeRecoveries}, &p.Recoveries)
}

func (c *deviceTotals) checkInterconnect(i *gpu.Interconnect) {
	checkCount(c, totalKey{quantity: quantityLinkTransmitted}, &i.Transmitted)
	checkCount(c, totalKey{quantity: quantityLinkReceived}, &i.Received)
	for kind := range i.Errors {
		checkCount(c, totalKey{quantity: quantityInterconnectErrors, a: kind}, &i.Errors[kind])
	}
	for n := range i.Links {
		link := &i.Links[n]
		checkCount(c, totalKey{quantity: quantityLinkTransmitted, name: link.Name}, &link.Transmitted)
		checkCount(c, totalKey{quantity: quantityLinkReceived, name: link.Name}, &link.Received)
		for kind := range link.Errors {
			checkCount(c, totalKey{quantity: quantityLinkErrors, a: kind, name: link.Name}, &link.Errors[kind])
		}
		for bin := range link.FEC {
			checkCount(c, totalKey{quantity: quantityLinkFEC, a: bin, name: link.Name}, &link.FEC[bin])
		}
	}
}

func (c *deviceTotals) checkMemory(d *gpu.Device) {
	for i := range d.Errors {
		e, lifetime := &d.Errors[i], 0
		if e.Lifetime {
			lifetime = 1
		}
		checkCount(c, totalKey{quantity: quantityErrors, a: int(e.Type), b: lifetime, name: e.Block}, &e.Count)
	}
	for memory := range d.ECC.Memory {
		for kind := range d.ECC.Memory[memory] {
			checkCount(c, totalKey{quantity: quantityECCMemory, a: memory, b: kind}, &d.ECC.Memory[memory][kind])
		}
	}
	for i := range d.ECC.Locations {
		e := &d.ECC.Locations[i]
		checkCount(c, totalKey{quantity: quantityECCLocation, a: int(e.Location), b: int(e.Type)}, &e.Count)
	}
	checkCount(c, totalKey{quantity: quantityRowsRemapped}, &d.RemappedRows.Corrected)
	checkCount(c, totalKey{quantity: quantityRowsRemapped, a: 1}, &d.RemappedRows.Uncorrected)
	checkCount(c, totalKey{quantity: quantityPagesRetired}, &d.RetiredPages.Corrected)
	checkCount(c, totalKey{quantity: quantityPagesRetired, a: 1}, &d.RetiredPages.Uncorrected)
}

// setLimit sets the highest power limit that is known. The limit in force may have been lowered just before the read.
func (c *deviceTotals) setLimit(p *gpu.Power) {
	var highest gpu.Opt[float64]
	for _, limit := range [...]gpu.Limit{gpu.LimitEnforced, gpu.LimitDefault, gpu.LimitMax} {
		if watts, ok := p.Limit[limit].Get(); ok && watts > 0 {
			current, _ := highest.Get()
			highest = gpu.Some(max(current, watts))
		}
	}
	c.limit = highest.Or(c.limit)
}

// checkCount checks a total that can rise by any number.
func checkCount(c *deviceTotals, key totalKey, total *gpu.Counter[int64]) {
	checkTotal(c, key, total, counter.Unlimited)
}

// checkTotal makes a total absent if it is doubtful. maxRate is the most that it can rise in a second.
func checkTotal[N gpu.Number](c *deviceTotals, key totalKey, total *gpu.Counter[N], maxRate float64) {
	value, ok := total.Get()
	if !ok {
		return
	}
	entry := c.totals[key]
	if entry == nil && len(c.totals) >= maxRemembered {
		return
	}
	if entry == nil || entry.epoch != c.epoch || !entry.source.Equal(total.Since()) {
		entry = &checked{epoch: c.epoch, source: total.Since()}
		c.totals[key] = entry
	}
	entry.lastRead = c.lastRead
	const noWrap = 0 // sources unwrap their counters
	switch verdict, reset := entry.check.Next(counter.Reading{Value: float64(value), At: c.lastRead}, maxRate, noWrap); verdict {
	case counter.Doubtful:
		*total = gpu.Counter[N]{}
		return
	case counter.Reset:
		entry.reset = reset
	}
	if !entry.reset.At.IsZero() {
		*total = gpu.TotalAfterReset(value, N(entry.reset.Value), entry.reset.At)
	}
}
