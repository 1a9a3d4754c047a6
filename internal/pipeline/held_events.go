// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// heldEvents are events that wait for another line, or for their copy of the source, oldest first. All of a list wait equally long.
type heldEvents []heldEvent

type heldEvent struct {
	event gpu.Event
	until time.Time
}

// due removes and returns the events whose wait is over.
func (h *heldEvents) due(now time.Time) []gpu.Event {
	n := 0
	for n < len(*h) && !now.Before((*h)[n].until) {
		n++
	}
	events := (*h)[:n].events()
	*h = append((*h)[:0], (*h)[n:]...)
	return events
}

// events returns the events.
func (h heldEvents) events() []gpu.Event {
	events := make([]gpu.Event, 0, len(h))
	for i := range h {
		events = append(events, h[i].event)
	}
	return events
}

// nextEnd is when the next wait is over; zero: nothing waits.
func (h heldEvents) nextEnd() time.Time {
	if len(h) == 0 {
		return time.Time{}
	}
	return h[0].until
}
