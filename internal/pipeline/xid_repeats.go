// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/xid"
)

const (
	// repeatPeriod is for how long XIDs that repeat an earlier one are summed.
	repeatPeriod = 10 * time.Second
	// maxRepeats bounds how many XIDs are watched for repeats. Those above it are not summed.
	maxRepeats = 512
)

// xidRepeats lets the first XID of a device and a code pass, and sums the others until repeatPeriod is over. It does the same with hardware errors of
// a device, an error class and a block, with errors of PCI Express and of switches, and with lines that a GPU is lost.
//
// The events of a GPU stay in order, and the place of a sum in this order is the time of its last XID: before any event of a GPU is sent,
// its sums are sent.
type xidRepeats struct {
	watched  map[repeatKey]*watchedXID
	sequence uint64 // a number for each XID that was summed
}

// repeatKey is what equal events have in common.
type repeatKey struct {
	kind    gpu.EventType
	device  string
	xid     int64
	class   gpu.ErrorClass
	part    string
	address string
}

// keyOf returns the key of an event, and whether its repeats are summed.
func keyOf(e *gpu.Event) (repeatKey, bool) {
	switch e.Type {
	case gpu.EventXID:
		return repeatKey{e.Type, e.DeviceID, e.XID, e.Class, decisiveWords(e), e.PCIAddress}, true
	case gpu.EventRASError, gpu.EventPCIeError, gpu.EventLost, gpu.EventSwitchError:
		return repeatKey{e.Type, e.DeviceID, e.XID, e.Class, e.Part, e.PCIAddress}, true
	default:
		return repeatKey{}, false
	}
}

// watchedXID is a key that had an XID lately.
type watchedXID struct {
	gpu  string // of the device
	ends time.Time
	sum  *gpu.Event // of the XIDs since the first, or since the last sum; nil if there are none
	last uint64     // the number of the last one in sum
}

// next returns the events to send after an event whose repeats are summed.
func (r *xidRepeats) next(key repeatKey, e gpu.Event, now time.Time) []gpu.Event {
	if watched := r.watched[key]; watched != nil {
		r.hold(watched, e)
		return nil
	}
	first, rest := split(e)
	events := append(r.release(gpuOf(&e), now), first)
	if len(r.watched) == maxRepeats {
		return append(events, rest...)
	}
	if r.watched == nil {
		r.watched = map[repeatKey]*watchedXID{}
	}
	watched := &watchedXID{gpu: gpuOf(&e), ends: now.Add(repeatPeriod)}
	r.watched[key] = watched
	for _, e := range rest {
		r.hold(watched, e)
	}
	return events
}

// gpuOf returns the ID of the GPU that an event is about.
func gpuOf(e *gpu.Event) string { return cmp.Or(e.Parent, e.DeviceID) }

// split returns the first of the XIDs that an event represents, and the others in one event.
func split(e gpu.Event) (first gpu.Event, rest []gpu.Event) {
	first = e
	if e.Count <= 1 {
		return first, nil
	}
	first.Time, first.Count, first.First = e.First, 0, time.Time{}
	e.Count--
	return first, []gpu.Event{e}
}

// hold adds an event to a sum.
func (r *xidRepeats) hold(watched *watchedXID, e gpu.Event) {
	r.sequence++
	watched.last = r.sequence
	if e.Count == 0 {
		e.Count, e.First = 1, e.Time
	}
	if sum := watched.sum; sum != nil {
		e.Count, e.First, e.Errors = e.Count+sum.Count, sum.First, plus(e.Errors, sum.Errors)
		inCommon(&e, sum)
		e.Holders, e.Users = union(sum.Holders, e.Holders), union(sum.Users, e.Users)
	}
	watched.sum = &e
}

// decisiveWords is the part of the driver's text that decides on severity and action: XIDs that differ in it are no repeats of each other.
func decisiveWords(e *gpu.Event) string {
	entry, _ := xid.Lookup(e.XID)
	return entry.Read(e.Detail).Words
}

// inCommon leaves to an event of several XIDs only what they have in common: of different texts the words that decide.
func inCommon(e, other *gpu.Event) {
	if e.Process == nil || other.Process == nil || *e.Process != *other.Process {
		e.Process = nil
	}
	if e.Detail != other.Detail {
		e.Detail = decisiveWords(e)
	}
}

// plus returns the sum of two numbers; absent if either is unknown.
func plus(a, b gpu.Opt[int64]) gpu.Opt[int64] {
	n, ok := a.Get()
	if m, known := b.Get(); ok && known {
		return gpu.Some(n + m)
	}
	return gpu.Opt[int64]{}
}

// release returns the sums of a GPU.
func (r *xidRepeats) release(id string, now time.Time) []gpu.Event {
	return r.take(func(w *watchedXID) bool { return w.gpu == id }, now)
}

// ended returns the sums whose period has ended, with the others of the same GPUs. XIDs that have not come again are no longer watched.
func (r *xidRepeats) ended(now time.Time) []gpu.Event {
	due := map[string]bool{}
	for key, watched := range r.watched {
		switch {
		case now.Before(watched.ends):
		case watched.sum == nil:
			delete(r.watched, key)
		default:
			due[watched.gpu] = true
		}
	}
	if len(due) == 0 {
		return nil
	}
	return r.take(func(w *watchedXID) bool { return due[w.gpu] }, now)
}

// all returns all sums, and watches nothing any longer.
func (r *xidRepeats) all() []gpu.Event {
	events := r.open()
	r.watched = nil
	return events
}

// open returns the sums as they are, in the order of their last XIDs. They go on.
func (r *xidRepeats) open() []gpu.Event {
	var events []gpu.Event
	for _, watched := range r.summing(func(*watchedXID) bool { return true }) {
		events = append(events, *watched.sum)
	}
	return events
}

// nextEnd is when the next time is over; zero: never.
func (r *xidRepeats) nextEnd() (next time.Time) {
	for watched := range maps.Values(r.watched) {
		if next.IsZero() || watched.ends.Before(next) {
			next = watched.ends
		}
	}
	return next
}

// summing returns the keys that pass a filter and have a sum, in the order of their last XIDs.
func (r *xidRepeats) summing(filter func(*watchedXID) bool) []*watchedXID {
	var result []*watchedXID
	for watched := range maps.Values(r.watched) {
		if watched.sum != nil && filter(watched) {
			result = append(result, watched)
		}
	}
	slices.SortFunc(result, func(a, b *watchedXID) int { return cmp.Compare(a.last, b.last) })
	return result
}

// take takes the sums that pass a filter, and starts new ones: the sums of a GPU that are taken together end together.
func (r *xidRepeats) take(filter func(*watchedXID) bool, now time.Time) []gpu.Event {
	var events []gpu.Event
	for _, watched := range r.summing(filter) {
		events = append(events, *watched.sum)
		watched.sum, watched.ends = nil, now.Add(repeatPeriod)
	}
	return events
}
