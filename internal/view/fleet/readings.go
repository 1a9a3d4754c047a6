// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxReadings is how many readings a node, a device, a process or a container has at most.
const maxReadings = 512

// ended is the value of a series that has ended. It stays for a while, so that a late message cannot bring the series back.
var ended = math.NaN()

// reading is the last value of one field.
type reading struct {
	timestamp pcommon.Timestamp // of the point
	value     float64
	field     field
}

// readings are what is known of a node, a device, a process or a container.
type readings struct {
	list       []reading
	newest     pcommon.Timestamp // of those that have a value
	lastUpdate time.Duration     // since the start of the fleet, when a message last changed them
	next       int               // the expected place of the field after the last one: messages have the same order each time
}

// full reports whether there is no room for a reading of another field.
func (r *readings) full(f field) bool { return len(r.list) == maxReadings && r.find(f) < 0 }

// put adds a reading. It reports whether it is new, and the time since the one before, 0 if there is none. An older one is ignored, as is a
// repeated one. A delta is added to the last value.
func (r *readings) put(new reading, delta bool, now time.Duration) (step time.Duration, ok bool) {
	i := r.find(new.field)
	if i < 0 {
		r.list = append(r.list, new)
	} else {
		old := &r.list[i]
		if new.timestamp < old.timestamp || new.timestamp == old.timestamp && (delta || new.value == old.value || math.IsNaN(new.value)) {
			return 0, false
		}
		if delta && !math.IsNaN(old.value) {
			new.value += old.value
		}
		if !math.IsNaN(new.value + old.value) {
			step = time.Duration(new.timestamp - old.timestamp)
		}
		*old = new
	}
	r.lastUpdate = now
	if !math.IsNaN(new.value) {
		r.newest = max(r.newest, new.timestamp)
	}
	return step, true
}

func (r *readings) find(f field) int {
	for i := r.next; i < len(r.list); i++ {
		if r.list[i].field == f {
			r.next = i + 1
			return i
		}
	}
	for i := range min(r.next, len(r.list)) {
		if r.list[i].field == f {
			r.next = i + 1
			return i
		}
	}
	return -1
}

// expire removes readings that are older than the newest by more than a time.
func (r *readings) expire(age time.Duration) {
	limit := r.newest - min(r.newest, pcommon.Timestamp(age))
	r.list = slices.DeleteFunc(r.list, func(old reading) bool { return old.timestamp < limit })
	if cap(r.list) > len(r.list)+len(r.list)/4+2 {
		r.list = slices.Clone(r.list)
	}
	r.next = 0
}

// alive reports whether a series has not ended.
func (r *readings) alive() bool {
	return slices.ContainsFunc(r.list, func(one reading) bool { return !math.IsNaN(one.value) })
}

// values goes through the readings that have a value.
func (r *readings) values(yield func(field, float64) bool) {
	for i := range r.list {
		if v := r.list[i].value; !math.IsNaN(v) && !yield(r.list[i].field, v) {
			return
		}
	}
}
