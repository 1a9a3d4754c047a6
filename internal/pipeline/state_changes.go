// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// stateChanges finds the devices whose state differs from their last known state.
type stateChanges struct {
	last map[string]gpu.State // by hw.id
	// ended are the placeholders that are not in the last node and whose last event was not ok, with the state in it.
	ended map[string]gpu.State
}

// next returns an event for each device whose state has changed. For a device that was not in the last node there is one only
// if its state is not ok. A device that could not be read keeps its last state, and so do all where a node that could not be read has
// none. Otherwise a device that is not in the node is forgotten, also where the read failed: it was handed to another driver, say.
func (s *stateChanges) next(node *gpu.Node) []gpu.Event {
	var events []gpu.Event
	now := make(map[string]gpu.State, len(node.Devices))
	for i := range node.Devices {
		d := &node.Devices[i]
		last, seen := s.last[d.ID]
		if placeholder := node.Placeholder(d); placeholder != d.ID {
			if e, ends := s.end(placeholder, d); ends {
				e.Time = node.Time
				events = append(events, e)
			}
		}
		if d.Unread {
			if seen {
				now[d.ID] = last
			}
			continue
		}
		state := d.State()
		now[d.ID] = state
		if seen && last == state || !seen && state == gpu.StateOK {
			continue
		}
		e := gpu.Event{
			Type: gpu.EventStatus, Time: node.Time, DeviceID: d.ID, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
			State: state, Message: stateMessage(d),
		}
		if seen {
			e.Previous = gpu.Some(last)
		}
		events = append(events, e)
	}
	if node.Failure == nil || s.last == nil || len(node.Devices) > 0 {
		s.keepPlaceholders(node, now)
		s.last = now
	}
	return events
}

// end ends the state of a placeholder by the device that took its place, and returns the event of it.
func (s *stateChanges) end(placeholder string, d *gpu.Device) (gpu.Event, bool) {
	last, known := s.last[placeholder]
	if !known {
		last, known = s.ended[placeholder]
	}
	delete(s.ended, placeholder)
	delete(s.last, placeholder)
	if !known || last == gpu.StateOK {
		return gpu.Event{}, false
	}
	return gpu.Event{
		Type: gpu.EventStatus, DeviceID: placeholder, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
		State: gpu.StateOK, Previous: gpu.Some(last), Message: "the GPU can be identified again; its id is " + d.ID,
	}, true
}

// keepPlaceholders remembers the placeholders that leave with a state that no event has ended: a GPU that is reset is away for some reads.
func (s *stateChanges) keepPlaceholders(node *gpu.Node, now map[string]gpu.State) {
	prefix := node.Placeholder(&gpu.Device{})
	for id, state := range s.last {
		if _, stays := now[id]; !stays && state != gpu.StateOK && strings.HasPrefix(id, prefix) && len(s.ended) < maxEnded {
			if s.ended == nil {
				s.ended = map[string]gpu.State{}
			}
			s.ended[id] = state
		}
	}
}

// maxEnded bounds how many placeholders are remembered.
const maxEnded = 64

// stateMessage is the body of the event.
func stateMessage(d *gpu.Device) string {
	if len(d.Faults) == 0 {
		return "the GPU is healthy again"
	}
	messages := make([]string, 0, len(d.Faults))
	for _, f := range d.Faults {
		messages = append(messages, f.Message)
	}
	return strings.Join(messages, "; ")
}
