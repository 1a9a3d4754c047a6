// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"maps"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// stateChanges finds the devices whose state differs from their last known state.
type stateChanges struct {
	last map[string]lastState // by hw.id
	// ended are the devices that are not in the last node and whose last event was not ok, with the state in it: placeholders, and devices
	// of an earlier process.
	ended map[string]lastState
}

// lastState is a device's last known state. since is its start; zero if it started before the first read. lastRead is when it was read last.
// restored: that was before this process started.
type lastState struct {
	gpu.State
	since, lastRead time.Time
	restored        bool
}

// lasted returns how long the state lasted until a time, as far as it was seen.
func (s lastState) lasted(until time.Time) gpu.Opt[time.Duration] {
	if s.restored {
		until = s.lastRead
	}
	if s.since.IsZero() || until.Before(s.since) {
		return gpu.Opt[time.Duration]{}
	}
	return gpu.Some(until.Sub(s.since))
}

// lastSeen is when the state was read last, if it ended while nothing was read; else zero.
func (s lastState) lastSeen() time.Time {
	if !s.restored {
		return time.Time{}
	}
	return s.lastRead
}

// next returns an event for each device whose state has changed. For a device that was not in the last node there is an event only if its
// state is not ok. A device that could not be read keeps its last state, and so do all devices if a node that could not be read is empty.
// Otherwise a device that is not in the node is forgotten, also if the read failed: it was bound to another driver, for example. The
// exception is a device whose state is from an earlier process: its GPU was perhaps lost before this process could identify it.
func (s *stateChanges) next(node *gpu.Node) []gpu.Event {
	var events []gpu.Event
	maps.DeleteFunc(s.ended, func(_ string, state lastState) bool { return node.Time.Sub(state.lastRead) > endedPeriod })
	now := make(map[string]lastState, len(node.Devices))
	for i := range node.Devices {
		d := &node.Devices[i]
		last, exists := s.last[d.ID]
		if previous, ended := s.ended[d.ID]; ended && !exists {
			last, exists = previous, true
			delete(s.ended, d.ID)
		}
		if placeholder := node.Placeholder(d); placeholder != d.ID {
			if e, ends := s.end(placeholder, d, node.Time); ends {
				events = append(events, e)
			}
		}
		if d.Unread {
			if exists {
				now[d.ID] = last
			}
			continue
		}
		state := lastState{State: d.State(), lastRead: node.Time}
		if exists && last.State == state.State {
			state.since = last.since
			now[d.ID] = state
			continue
		}
		if s.last != nil { // else it may have begun long before
			state.since = node.Time
		}
		now[d.ID] = state
		if !exists && state.State == gpu.StateOK {
			continue
		}
		e := gpu.Event{
			Type: gpu.EventStatus, Time: node.Time, DeviceID: d.ID, Parent: d.Parent, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
			State: state.State, Faults: faultTypes(d), RecoveryAction: d.RecoveryAction, RecoveryWord: d.RecoveryWord, Message: stateMessage(d),
		}
		if exists {
			e.Previous, e.Lasted, e.LastSeen = gpu.Some(last.State), last.lasted(node.Time), last.lastSeen()
		}
		events = append(events, e)
	}
	if node.Failure == nil || s.last == nil || len(node.Devices) > 0 {
		s.keepEnded(node, now)
		s.last = now
	}
	return events
}

// end ends the state of a placeholder by the device that took its place, and returns the event of it.
func (s *stateChanges) end(placeholder string, d *gpu.Device, now time.Time) (gpu.Event, bool) {
	last, known := s.last[placeholder]
	if !known {
		last, known = s.ended[placeholder]
	}
	delete(s.ended, placeholder)
	delete(s.last, placeholder)
	if !known || last.State == gpu.StateOK {
		return gpu.Event{}, false
	}
	return gpu.Event{
		Type: gpu.EventStatus, Time: now, DeviceID: placeholder, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
		State: gpu.StateOK, Previous: gpu.Some(last.State), Lasted: last.lasted(now), LastSeen: last.lastSeen(), Message: "the GPU can be identified again; its id is " + d.ID,
	}, true
}

// keepEnded remembers the placeholders, and the devices of an earlier process, that leave with a state that no event has ended: a GPU that is
// reset is away for some reads.
func (s *stateChanges) keepEnded(node *gpu.Node, now map[string]lastState) {
	prefix := node.Placeholder(&gpu.Device{})
	for id, state := range s.last {
		_, stays := now[id]
		eligible := strings.HasPrefix(id, prefix) || state.restored
		if !stays && eligible && state.State != gpu.StateOK && len(s.ended) < maxEnded {
			if s.ended == nil {
				s.ended = map[string]lastState{}
			}
			s.ended[id] = state
		}
	}
}

const (
	// maxEnded bounds how many devices are remembered that are not in the node.
	maxEnded = 64
	// endedPeriod is how long a device is remembered that is not in the node: a GPU that has not come back by then was taken away, or has another
	// address.
	endedPeriod = 24 * time.Hour
)

// faultTypes are the types of a device's faults.
func faultTypes(d *gpu.Device) []gpu.FaultType {
	var types []gpu.FaultType
	for _, f := range d.Faults {
		types = append(types, f.Type)
	}
	return types
}

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
