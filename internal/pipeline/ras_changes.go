// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"maps"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// rasChanges finds the hardware errors of AMD's GPUs that were counted between two reads, and the pages of their memory that became bad. If
// the kernel's log was read at both of them it has the same, so that there are no events.
type rasChanges struct {
	last    map[string]rasCounts // by hw.id
	logRead bool                 // at the last read
}

// rasCounts is what was last read of a GPU.
type rasCounts struct {
	epoch  uint64
	errors map[rasCounter]int64
	pages  gpu.Opt[int64]
}

// next returns the events of a read. A GPU's first counts produce no event: the time of these errors is unknown. Values that a read does
// not have stay as they were.
func (c *rasChanges) next(node *gpu.Node, logRead bool) []gpu.Event {
	known := c.logRead && logRead
	c.logRead = logRead
	var events []gpu.Event
	for i := range node.Devices {
		d := &node.Devices[i]
		if d.Vendor != gpu.AMD || d.Unread || len(d.Errors) == 0 && !d.RetiredPages.Bad.Known() {
			continue
		}
		last, exists := c.last[d.ID]
		if !exists && len(c.last) == maxRemembered {
			continue
		}
		now := countsOf(d, last)
		if exists && !known {
			events = append(events, now.events(node, d, last)...)
		}
		if c.last == nil {
			c.last = map[string]rasCounts{}
		}
		c.last[d.ID] = now
	}
	return events
}

// countsOf returns the counts of a device, with missing counts filled in from its last read.
func countsOf(d *gpu.Device, last rasCounts) rasCounts {
	now := rasCounts{epoch: d.Epoch, errors: map[rasCounter]int64{}, pages: last.pages}
	maps.Copy(now.errors, last.errors)
	for _, e := range d.Errors {
		if n, ok := e.Count.Get(); ok && !e.Lifetime && len(now.errors) < maxRemembered {
			now.errors[rasCounter{d.ID, errorClasses[e.Type], e.Block}] = n
		}
	}
	if d.RetiredPages.Bad.Known() {
		now.pages = d.RetiredPages.Bad
	}
	return now
}

var errorClasses = [gpu.NumErrorTypes]gpu.ErrorClass{
	gpu.ErrorCorrected: gpu.ClassCorrected, gpu.ErrorUncorrected: gpu.ClassUncorrected, gpu.ErrorDeferred: gpu.ClassDeferred,
}

// events returns what has risen since the last read. Counters that start again, with the driver, start at 0.
func (c rasCounts) events(node *gpu.Node, d *gpu.Device, last rasCounts) []gpu.Event {
	event := func(kind gpu.EventType, errors int64) gpu.Event {
		return gpu.Event{
			Type: kind, Time: node.Time, DeviceID: d.ID, Parent: d.Parent, Name: d.Name, Model: d.Model, Vendor: d.Vendor, Errors: gpu.Some(errors),
		}
	}
	var events []gpu.Event
	for _, e := range d.Errors { // in the source's order
		counter := rasCounter{d.ID, errorClasses[e.Type], e.Block}
		before, known := last.errors[counter]
		now := c.errors[counter]
		if n, ok := e.Count.Get(); !ok || e.Lifetime || n != now {
			continue
		}
		if now < before || c.epoch != last.epoch {
			before = 0
		}
		if known && now > before {
			ras := event(gpu.EventRASError, now-before)
			ras.Class, ras.Part = counter.class, counter.block
			events = append(events, ras)
		}
	}
	before, known := last.pages.Get()
	if now, ok := c.pages.Get(); ok && known && now > before {
		pages := event(gpu.EventBadPages, now-before)
		pages.Pages = c.pages
		events = append(events, pages)
	}
	return events
}
