// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"maps"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// stateChanges finds the devices whose state differs from their last known state.
type stateChanges struct {
	last map[string]gpu.State // by hw.id
}

// next returns an event for each device whose state has changed. For a device that was not in the last node there is one only
// if its state is not ok. A device that could not be read keeps its last state, and so does one that is not in a node that could
// not be read.
func (s *stateChanges) next(node *gpu.Node) []gpu.Event {
	var events []gpu.Event
	now := make(map[string]gpu.State, len(node.Devices))
	for i := range node.Devices {
		d := &node.Devices[i]
		last, seen := s.last[d.ID]
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
	if node.Failure == nil || s.last == nil {
		s.last = now
	} else {
		maps.Copy(s.last, now)
	}
	return events
}

// stateMessage is the body of the event.
func stateMessage(d *gpu.Device) string {
	if len(d.Faults) == 0 {
		return "the GPU is well again"
	}
	messages := make([]string, 0, len(d.Faults))
	for _, f := range d.Faults {
		messages = append(messages, f.Message)
	}
	return strings.Join(messages, "; ")
}
