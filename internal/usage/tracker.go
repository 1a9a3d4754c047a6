// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/cadence"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Options configure a Tracker.
type Options struct {
	Interval time.Duration // between two reads, as configured
	// Allocations and Processes say what is followed.
	Allocations, Processes bool
}

// Tracker follows the allocations and the processes of one vendor's devices of one node from read to read. It is for one goroutine at
// a time.
type Tracker struct {
	options     Options
	cadence     *cadence.Cadence
	allocations allocations
	processes   processes
	// unseen are the devices, by hw.id, that an earlier process knew and that no node of this process has had.
	unseen map[string]bool
}

// New returns a Tracker that has seen no read.
func New(options Options) *Tracker {
	return &Tracker{
		options: options, cadence: cadence.New(options.Interval),
		allocations: allocations{open: map[allocationKey]*Allocation{}, known: knownAt{}},
		processes:   processes{open: map[processKey]*Process{}, known: knownAt{}},
		unseen:      map[string]bool{},
	}
}

// Next returns what has begun and ended since the last read: ends first.
func (t *Tracker) Next(node *gpu.Node) []gpu.Event {
	if !t.options.Allocations && !t.options.Processes {
		return nil
	}
	longest := t.cadence.Longest() // before this read
	since := t.cadence.Next(node.Time.Round(0))
	devices := make(map[string]*gpu.Device, len(node.Devices))
	for i := range node.Devices {
		devices[node.Devices[i].ID] = &node.Devices[i]
		delete(t.unseen, node.Devices[i].ID)
	}
	unreadable := func(d *Device, u *Period) bool { return t.unreadable(node, devices, d, u) }
	var events []gpu.Event
	if t.options.Allocations {
		events = t.allocations.next(node, devices, longest, unreadable)
	}
	if t.options.Processes {
		events = append(events, t.processes.next(node, devices, since, longest, unreadable)...)
	}
	return events
}

// unseenPeriod is how long the use of a device goes on without the device in a node of this process. A GPU that has not come back by then
// was removed.
const unseenPeriod = 24 * time.Hour

// unreadable reports whether a device that is not in the node may still be there: the node could not be read, or nothing has shown the device
// since the collector was restarted. A source names a GPU that it cannot read only after it has read it once. A partition is not there any more
// if its GPU was read.
func (t *Tracker) unreadable(node *gpu.Node, devices map[string]*gpu.Device, d *Device, u *Period) bool {
	switch {
	case devices[d.ID] != nil:
		return false
	case node.Failure != nil:
		return true
	}
	if parent := devices[d.Parent]; parent != nil && !parent.Unread && parent.State() != gpu.StateFailed {
		return false
	}
	return t.unseen[d.ID] && node.Time.Sub(u.Seen) <= unseenPeriod
}

// State returns what is known, in order. It shares nothing with the Tracker that a later read changes.
func (t *Tracker) State() State {
	s := State{
		HoldersKnown: maps.Clone(t.allocations.known), ProcessesKnown: maps.Clone(t.processes.known), ProcessesRead: t.processes.read,
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.allocations.open), allocationKey.compare) {
		s.Allocations = append(s.Allocations, *t.allocations.open[key])
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.processes.open), processKey.compare) {
		s.Processes = append(s.Processes, *t.processes.open[key])
	}
	return s
}

// Restore makes the Tracker go on with what another one knew. It is called before the first read.
func (t *Tracker) Restore(s State) {
	t.processes.read = s.ProcessesRead
	maps.Copy(t.allocations.known, s.HoldersKnown)
	maps.Copy(t.processes.known, s.ProcessesKnown)
	for i := range s.Allocations {
		a := s.Allocations[i]
		t.allocations.open[a.key()] = &a
		t.unseen[a.Device.ID] = true
	}
	for i := range s.Processes {
		p := s.Processes[i]
		t.processes.open[processKey{p.Device.ID, p.PID}] = &p
		t.unseen[p.Device.ID] = true
	}
}

// knownAt is when something was known last of each device, by hw.id.
type knownAt map[string]time.Time

// knew reports whether it was known a short time ago. A new partition was known to have nothing if that was known of its GPU.
func (k knownAt) knew(d *gpu.Device, now time.Time, longest time.Duration) bool {
	if d == nil {
		return false
	}
	last, ok := k[d.ID]
	if !ok && d.Parent != "" {
		last, ok = k[d.Parent]
	}
	return ok && now.Sub(last) <= longest
}

// update applies a read: what is known now of each device. Devices that are not in the node are forgotten, if it was read.
func (k knownAt) update(node *gpu.Node, devices map[string]*gpu.Device, isKnown func(*gpu.Device) bool) {
	if node.Failure == nil {
		maps.DeleteFunc(k, func(id string, _ time.Time) bool { return devices[id] == nil })
	}
	for id, d := range devices {
		if isKnown(d) {
			k[id] = node.Time.Round(0)
		}
	}
}
