// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "time"

// EventType is a kind of event; it names the log record (EventName).
type EventType uint8

// The events.
const (
	EventXID    EventType = iota // hw.gpu.xid
	EventStatus                  // hw.gpu.status: the state of a device has changed
	// process.gpu.started, process.gpu.exited: a process has begun to use a device, or does not any more.
	EventProcessStarted
	EventProcessExited
	NumEventTypes
)

// Event is something that happened to a device, at its own time.
type Event struct {
	Type     EventType
	Time     time.Time
	DeviceID string
	// Name, Model and Vendor of the device as last known: it may be gone when the event is delivered.
	Name   string
	Model  string
	Vendor Vendor

	XID      int64      // of EventXID
	State    State      // of EventStatus: the new one
	Previous Opt[State] // of EventStatus; absent where the device was not seen before
	Message  string

	Process *Process // of EventProcessStarted and EventProcessExited: as last read
}
