// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// events are the last events, in the order in which they came.
type events struct {
	max   int
	ring  []view.Event
	next  int // in a full ring the oldest
	known map[string]struct{}
}

func newEvents(most int) *events { return &events{max: most, known: map[string]struct{}{}} }

// add adds an event and reports whether it is new. A message that comes twice adds nothing.
func (e *events) add(event view.Event) bool {
	if _, ok := e.known[event.UID]; ok {
		return false
	}
	e.known[event.UID] = struct{}{}
	if len(e.ring) < e.max {
		e.ring = append(e.ring, event)
		return true
	}
	delete(e.known, e.ring[e.next].UID)
	e.ring[e.next] = event
	e.next = (e.next + 1) % e.max
	return true
}

// newest returns all events, the one that came last first.
func (e *events) newest() []view.Event {
	all := slices.Concat(e.ring[e.next:], e.ring[:e.next])
	slices.Reverse(all)
	if all == nil {
		return []view.Event{}
	}
	return all
}
