// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// flapPeriod is for how long changes of a device's state are summed.
	flapPeriod = 10 * time.Minute
	// maxChanges is how many changes of a device pass before others are summed: it failed twice and came back.
	maxChanges = 4
	// maxFlapping bounds the devices that are watched. The changes of others are not summed.
	maxFlapping = 1024
)

// statusFlaps lets the first changes of a device's state pass, and sums the others until flapPeriod is over. A period without a sum ends
// it. The first change to failed of a period passes too, after the sum of those before it.
type statusFlaps struct {
	watched map[string]*watchedStatus // by hw.id
}

// watchedStatus is a device whose state changed lately.
type watchedStatus struct {
	ends   time.Time
	passed int
	failed bool       // a change to failed has passed in this period
	sum    *gpu.Event // of the changes that did not pass; nil if all passed
}

// next returns what is to be sent now that the state of a device has changed.
func (f *statusFlaps) next(e gpu.Event, now time.Time) []gpu.Event {
	watched := f.watched[e.DeviceID]
	if watched == nil {
		if len(f.watched) == maxFlapping {
			return []gpu.Event{e}
		}
		if f.watched == nil {
			f.watched = map[string]*watchedStatus{}
		}
		watched = &watchedStatus{ends: now.Add(flapPeriod)}
		f.watched[e.DeviceID] = watched
	}
	fails := e.State == gpu.StateFailed && !watched.failed
	if watched.passed == maxChanges && !fails {
		watched.hold(e)
		return nil
	}
	watched.passed = min(watched.passed+1, maxChanges)
	watched.failed = watched.failed || fails
	return append(watched.take(), e)
}

// hold adds a change to the sum: from the first one's previous state to the last one's new state.
func (w *watchedStatus) hold(e gpu.Event) {
	e.Count, e.First = 1, e.Time
	if sum := w.sum; sum != nil {
		e.Count, e.First = sum.Count+1, sum.First
		e.Previous, e.Lasted = sum.Previous, sum.Lasted
		e.Holders, e.Users = union(sum.Holders, e.Holders), union(sum.Users, e.Users)
	}
	w.sum = &e
}

// take takes the sum, if there is one.
func (w *watchedStatus) take() []gpu.Event {
	if w.sum == nil {
		return nil
	}
	sum := *w.sum
	w.sum = nil
	return []gpu.Event{sum}
}

// ended returns the sums whose period is over, and starts the next period of their devices. Devices without a sum are no longer watched.
func (f *statusFlaps) ended(now time.Time) []gpu.Event {
	var events []gpu.Event
	for id, watched := range f.watched {
		if now.Before(watched.ends) {
			continue
		}
		if watched.sum == nil {
			delete(f.watched, id)
			continue
		}
		watched.ends, watched.failed = now.Add(flapPeriod), watched.sum.State == gpu.StateFailed
		events = append(events, watched.take()...)
	}
	return inOrder(events)
}

// all returns all sums, and watches nothing any longer.
func (f *statusFlaps) all() []gpu.Event {
	events := f.open()
	f.watched = nil
	return events
}

// open returns the sums as they are. They go on.
func (f *statusFlaps) open() []gpu.Event {
	var events []gpu.Event
	for watched := range maps.Values(f.watched) {
		if watched.sum != nil {
			events = append(events, *watched.sum)
		}
	}
	return inOrder(events)
}

// nextEnd is when the next period is over; zero: never.
func (f *statusFlaps) nextEnd() (next time.Time) {
	for watched := range maps.Values(f.watched) {
		if next.IsZero() || watched.ends.Before(next) {
			next = watched.ends
		}
	}
	return next
}

// inOrder sorts sums by the times of their last changes.
func inOrder(sums []gpu.Event) []gpu.Event {
	slices.SortFunc(sums, func(a, b gpu.Event) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.DeviceID, b.DeviceID)) })
	return sums
}
