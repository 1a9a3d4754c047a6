// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// State is what a Tracker knows. All of it can be written as JSON and read again.
type State struct {
	Allocations []Allocation `json:"allocations,omitempty"` // that go on
	Processes   []Process    `json:"processes,omitempty"`   // that go on
	// HoldersKnown and ProcessesKnown are when all holders and all processes of each device were known last, by hw.id.
	HoldersKnown   map[string]time.Time `json:"holders_known,omitempty"`
	ProcessesKnown map[string]time.Time `json:"processes_known,omitempty"`
	// ProcessesRead: processes were followed before, so that those that are new have begun since.
	ProcessesRead bool `json:"processes_read,omitempty"`
}

// Device identifies a device in a record, also after the device has gone.
type Device struct {
	ID      string     `json:"id"`
	Parent  string     `json:"parent,omitempty"`
	Name    string     `json:"name,omitempty"`
	Model   string     `json:"model,omitempty"`
	Profile string     `json:"profile,omitempty"` // of a partition
	Vendor  gpu.Vendor `json:"vendor,omitempty"`
}

// Period is the time from the first to the last read that showed an allocation or a process.
type Period struct {
	Start      time.Time `json:"start"`       // the first read that showed it
	StartKnown bool      `json:"start_known"` // the read before did not show it
	Seen       time.Time `json:"seen"`        // the last read that showed it
}

// Allocation is one device that is allocated to one container or job.
type Allocation struct {
	Period
	Device    Device        `json:"device"`
	Container gpu.Container `json:"container"` // as last known
	Resource  string        `json:"resource,omitempty"`
	Allocator gpu.Allocator `json:"allocator,omitempty"`
	Sharing   gpu.Sharing   `json:"sharing,omitempty"`

	Holders int     `json:"holders"`  // how many containers held the device when it was last seen, this one included
	GPUTime float64 `json:"gpu_time"` // seconds, divided by the number of holders, up to Seen
	Idle    Total   `json:"idle"`     // seconds
	Busy    Total   `json:"busy"`     // seconds
	Energy  Total   `json:"energy"`   // joules
	Memory  Memory  `json:"memory"`
}

// Process is one process that uses one device. What is not known is empty.
type Process struct {
	Period
	Device     Device          `json:"device"`
	PID        int64           `json:"pid"`
	Type       gpu.ProcessType `json:"type,omitempty"`
	Created    time.Time       `json:"created,omitzero"`
	Executable string          `json:"executable,omitempty"`
	Command    string          `json:"command,omitempty"`
	Container  *gpu.Container  `json:"container,omitempty"`

	Idle   Total  `json:"idle"` // seconds
	Busy   Total  `json:"busy"` // seconds
	Memory Memory `json:"memory"`
}

// deviceOf returns what identifies a device.
func deviceOf(d *gpu.Device) Device {
	return Device{ID: d.ID, Parent: d.Parent, Name: d.Name, Model: d.Model, Profile: d.Info.Profile, Vendor: d.Vendor}
}

// setEvent sets the device in an event.
func (d *Device) setEvent(e *gpu.Event) {
	e.DeviceID, e.Parent, e.Name, e.Model, e.Profile, e.Vendor = d.ID, d.Parent, d.Name, d.Model, d.Profile, d.Vendor
}

// use returns the use of an event that reports the start.
func (t *Period) use() *gpu.Use { return &gpu.Use{Start: t.Start, StartKnown: t.StartKnown} }

// ended returns the use of an event that reports the end. end is the time of the read that no longer showed it. If the last read that did is longer ago
// than longest, the end is unknown, and that last read is the last known time.
func (t *Period) ended(end time.Time, longest time.Duration) *gpu.Use {
	u := t.use()
	u.End, u.EndKnown = end, end.Sub(t.Seen) <= longest
	if !u.EndKnown || u.End.Before(t.Seen) {
		u.End = t.Seen
	}
	if u.End.Before(u.Start) { // the clock was set back
		u.Start, u.StartKnown = u.End, false
	}
	return u
}
