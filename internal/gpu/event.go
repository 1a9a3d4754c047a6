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
	EventRASError    // hw.gpu.ras_error: AMD's driver counted hardware errors
	EventBadPages    // hw.gpu.bad_pages: AMD's driver took pages of the memory out of use
	EventReset       // hw.gpu.reset: AMD's driver resets the GPU, or has tried to
	EventRingTimeout // hw.gpu.ring_timeout: a ring of an AMD GPU did not complete a job in time
	EventPCIeError   // hw.gpu.pcie_error: the kernel reports an error of the GPU's link (AER)
	EventLost        // hw.gpu.lost: NVIDIA's driver says, without an XID, that the GPU has fallen off the bus
	// container.gpu.allocated, container.gpu.released: a device was allocated to a container, or taken back. Agentless, without a device: a
	// container's pod was bound to a node, or has ended there.
	EventAllocated
	EventReleased
	// k8s.pod.gpu.*: what happened to a pod that requests GPUs.
	EventPodCreated
	EventPodPending
	EventPodScheduled
	EventPodPhase
	EventPodCondition
	EventPodRestarted
	EventPodEvicted
	EventPodFinished
	EventPodDeleted
	EventPodSnapshot // what its spec and status say now: Message is JSON
	// k8s.workload.gpu.*: what happened to a workload, the topmost owner of such pods.
	EventWorkloadStarted
	EventWorkloadChanged
	EventWorkloadEnded
	// hw.gpu.throttled.started, hw.gpu.throttled.ended: a device was throttled for longer than a set time, and is not any more.
	EventThrottledStarted
	EventThrottledEnded
	EventSwitchError // hw.gpu.switch_error: an NVSwitch of the machine had an error (SXid); of no device
	NumEventTypes
)

// ErrorClass is how bad a hardware error is: error.type of hw.gpu.ras_error and hw.gpu.pcie_error.
type ErrorClass uint8

// The classes.
const (
	ClassCorrected ErrorClass = iota
	ClassDeferred             // AMD: uncorrectable, and not used yet
	ClassUncorrected
	ClassPoison   // AMD: something has used uncorrectable data
	ClassNonFatal // PCI Express: one transaction failed, the link works
	ClassFatal    // PCI Express: the link does not work any more
	NumErrorClasses
)

// ResetState is how far a reset of a GPU is.
type ResetState uint8

// The states of a reset.
const (
	ResetStarted ResetState = iota
	ResetSucceeded
	ResetFailed
	NumResetStates
)

// Event is something that happened to a device, or to those that request devices.
type Event struct {
	// UID identifies the record of the event (log.record.uid), also if it is sent again. The pipeline sets it if the source does not.
	UID      string
	Type     EventType
	Time     time.Time // for several events in one, of the last
	DeviceID string
	Parent   string // of a partition: the ID of its GPU
	// Name, Model and Vendor of the device as last known: the device may be gone when the event is sent.
	Name   string
	Model  string
	Vendor Vendor
	// Profile is as of Info, of EventAllocated, EventReleased and the events of processes.
	Profile string

	XID int64 // NVIDIA's code: the XID of EventXID, the SXid of EventSwitchError
	// Count is how many events this one represents, and First is when the first of them happened; zero if it represents only itself.
	Count int64
	First time.Time
	// Follows is the UID of an earlier event, with which this one comes.
	Follows string
	// Process is the process that the driver names (EventXID and EventRingTimeout; only its PID and Executable; nil if the driver or its
	// log does not name a process), or that started or stopped using the device, as last read (EventProcessStarted and EventProcessExited).
	Process *Process
	// Detail is the driver's text beyond the code, for EventXID and for events of the kernel log only; empty if the kernel log is not read.
	Detail string

	Class ErrorClass // of EventRASError, EventPCIeError and EventSwitchError
	// Errors is the number of hardware errors (EventRASError) or of pages (EventBadPages) that are new; absent if that is not known.
	Errors Opt[int64]
	// Pages is the number of all bad pages, of EventBadPages. AtLimit: they are so many that the GPU should be replaced.
	Pages   Opt[int64]
	AtLimit bool
	// Part is the block that counted (EventRASError), the ring (EventRingTimeout) or the layer (EventPCIeError).
	Part      string
	Reset     ResetState // of EventReset
	Recovered bool       // of EventRingTimeout: the driver ended the job, and the GPU needs no reset
	// PCIAddress is of the function that reported the error: of EventPCIeError the GPU, or a port above it; of EventSwitchError the switch.
	PCIAddress string
	Link       Opt[int64] // of EventSwitchError: the link of the switch; absent if the driver names none

	// Holders are the containers to which the device was allocated, and Users are the containers whose processes used it. Nil: unknown.
	Holders, Users []*Container

	State    State      // of EventStatus: the new one
	Previous Opt[State] // of EventStatus; absent if the device was not seen before
	// Lasted is how long the previous state lasted, of EventStatus, and how long the device has been throttled, of EventThrottledStarted and
	// EventThrottledEnded; absent if its beginning was not seen.
	Lasted Opt[time.Duration]
	// LastSeen is when that was read last which the event ended, if it ended while the receiver did not run: between LastSeen and Time. Otherwise zero.
	LastSeen time.Time
	// Faults are the faults of the new state, and RecoveryAction is what the driver requests, for EventStatus. RecoveryWord is as in
	// Device.
	Faults         []FaultType
	RecoveryAction Opt[RecoveryAction]
	RecoveryWord   string
	Message        string
	// Throttle are the reasons, of EventThrottledStarted and EventThrottledEnded: all since the beginning.
	Throttle []ThrottleReason

	Source  string   // of EventSourceFailed and EventSourceRecovered: as Node.Source
	Failure *Failure // of EventSourceFailed: why it is unreadable

	Holder *Holder // of EventAllocated and EventReleased
	// Outside is of EventAllocated and EventReleased of the Kubernetes API, without a device; otherwise nil.
	Outside *Outside
	Use     *Use // of EventAllocated, EventReleased and the events of processes

	Pod      *PodChange      // of the events of pods
	Workload *WorkloadChange // of the events of workloads
}

// Outside is what the Kubernetes API says of an allocation: which devices they are it does not. Of the Holder, Resource is the name of the device class
// for DRA, and Sharing is SharingClaim or not known.
type Outside struct {
	Node  string
	Count Opt[int64] // of the resource; absent if it is not known
}

// Use is how long a container had a device, or a process used it, and how much, as far as it is known.
type Use struct {
	Start      time.Time // the start if StartKnown; otherwise the first time that it was seen
	StartKnown bool
	End        time.Time // EndKnown: when it ended; otherwise when it was last seen. Zero: it goes on
	EndKnown   bool

	GPUTime  Opt[float64] // seconds in which a container held the device, each divided by the number of holders
	BusyTime Opt[float64] // seconds
	IdleTime Opt[float64] // seconds
	Energy   Opt[float64] // joules

	MemoryPeak, MemoryMean Opt[int64] // bytes
}
