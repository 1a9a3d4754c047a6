// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/cadence"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// throttleChanges finds the devices that start to be throttled for longer than a set time, and the devices that are not throttled any more.
type throttleChanges struct {
	after   time.Duration
	cadence *cadence.Cadence
	free    map[string]time.Time  // by hw.id: when a device was last found not to be throttled
	open    map[string]Throttling // by hw.id: those that are throttled
}

func newThrottleChanges(after, interval time.Duration) throttleChanges {
	return throttleChanges{after: after, cadence: cadence.New(interval)}
}

// Throttling is how long a device has been throttled. Its JSON is stored.
type Throttling struct {
	Since      time.Time            `json:"since"`       // of the first read that found it
	SinceKnown bool                 `json:"since_known"` // a read shortly before found the device not throttled
	Seen       time.Time            `json:"seen"`        // of the last read that found it
	Reasons    []gpu.ThrottleReason `json:"reasons"`     // all since then, sorted
	Sent       bool                 `json:"sent,omitempty"`

	restored bool // Seen was before this process started
}

// slowdowns are the reasons that need attention. The others are how a GPU keeps its power limit, or its clocks equal to other GPUs'.
var slowdowns = [...]gpu.ThrottleReason{
	gpu.ThrottleHWSlowdown, gpu.ThrottleSWThermal, gpu.ThrottleHWThermal, gpu.ThrottleHWPowerBrake,
	gpu.ThrottleThermalGPU, gpu.ThrottleThermalMemory, gpu.ThrottleThermalVR, gpu.ThrottleThermalExtern,
}

// slowed returns the reasons that apply now. known is false if the device was not read, or reports none of them.
func slowed(d *gpu.Device) (reasons []gpu.ThrottleReason, known bool) {
	for _, reason := range slowdowns {
		active, ok := d.Throttle[reason].Active.Get()
		known = known || ok
		if active {
			reasons = append(reasons, reason)
		}
	}
	return reasons, known && !d.Unread
}

// next returns an event for each device that has been throttled long enough, and for each of these that is not throttled any more. A device that
// could not be read stays as it was. One that is not in a node that was read is forgotten, unless only an earlier process has read it: its GPU was
// perhaps lost before this process could identify it.
func (t *throttleChanges) next(node *gpu.Node) []gpu.Event {
	if node.Failure != nil && len(node.Devices) == 0 {
		return nil
	}
	var events []gpu.Event
	readTime := node.Time.Round(0) // the time that the machine slept counts
	longest := t.cadence.Longest() // before this read
	t.cadence.Next(readTime)
	now, free := make(map[string]Throttling, len(t.open)), make(map[string]time.Time, len(node.Devices))
	for id, open := range t.open {
		if open.restored && readTime.Sub(open.Seen) <= endedPeriod {
			now[id] = open
		}
	}
	for i := range node.Devices {
		d := &node.Devices[i]
		open, throttled := t.open[d.ID]
		last, wasFree := t.free[d.ID]
		reasons, known := slowed(d)
		switch {
		case !known && throttled:
			now[d.ID] = open
		case !known && wasFree:
			free[d.ID] = last
		case !known:
		case len(reasons) > 0:
			if !throttled {
				open = Throttling{Since: node.Time, SinceKnown: wasFree && readTime.Sub(last) <= longest}
			}
			open.Seen, open.restored = node.Time, false
			open.Reasons = slices.Compact(slices.Sorted(slices.Values(slices.Concat(open.Reasons, reasons))))
			if !open.Sent && node.Time.Sub(open.Since) >= t.after {
				open.Sent = true
				events = append(events, throttleEvent(gpu.EventThrottledStarted, node, d, &open))
			}
			now[d.ID] = open
		default:
			delete(now, d.ID)
			free[d.ID] = readTime
			if throttled && open.Sent {
				events = append(events, throttleEvent(gpu.EventThrottledEnded, node, d, &open))
			}
		}
	}
	t.open, t.free = now, free
	return events
}

// throttleEvent is the event of a device that is throttled (its time is the start of the throttling), or is not any more.
func throttleEvent(kind gpu.EventType, node *gpu.Node, d *gpu.Device, t *Throttling) gpu.Event {
	e := gpu.Event{
		Type: kind, Time: node.Time, DeviceID: d.ID, Parent: d.Parent, Name: d.Name, Model: d.Model, Vendor: d.Vendor, Throttle: t.Reasons,
	}
	end := node.Time
	switch {
	case kind == gpu.EventThrottledStarted:
		e.Time = t.Since
	case t.restored:
		e.LastSeen, end = t.Seen, t.Seen
	}
	if t.SinceKnown && !end.Before(t.Since) {
		e.Lasted = gpu.Some(end.Sub(t.Since))
	}
	return e
}

// known returns what is stored. A later read does not change it.
func (t *throttleChanges) known() map[string]Throttling { return t.open }

// restore goes on with what an earlier process knew.
func (t *throttleChanges) restore(known map[string]Throttling) {
	t.open = make(map[string]Throttling, len(known))
	for id, open := range known {
		open.Reasons = slices.DeleteFunc(open.Reasons, func(r gpu.ThrottleReason) bool { return r >= gpu.NumThrottleReasons })
		open.restored = true
		t.open[id] = open
	}
}
