// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "time"

// EventType is the kind of an event. It determines the name of the log record (EventName).
type EventType uint8

// The events.
const (
	EventXID    EventType = iota // hw.gpu.xid
	EventStatus                  // hw.gpu.status: the state of a device changed
	// process.gpu.started, process.gpu.exited: a process started or stopped using a device.
	EventProcessStarted
	EventProcessExited
	// hw.gpu.source.failed, hw.gpu.source.recovered: a source became unreadable, or readable again.
	EventSourceFailed
	EventSourceRecovered
	NumEventTypes
)

// Event is something that happened to a device.
type Event struct {
	Type     EventType
	Time     time.Time
	DeviceID string
	// Name, Model and Vendor of the device as last known: the device may be gone when the event is sent.
	Name   string
	Model  string
	Vendor Vendor

	XID      int64      // of EventXID
	State    State      // of EventStatus: the new one
	Previous Opt[State] // of EventStatus; absent if the device was not seen before
	Message  string

	Source  string   // of EventSourceFailed and EventSourceRecovered: as Node.Source
	Failure *Failure // of EventSourceFailed: why it is unreadable

	Process *Process // of EventProcessStarted and EventProcessExited: as last read
}
