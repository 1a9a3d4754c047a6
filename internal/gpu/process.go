// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "time"

// ProcessType is how a process uses a device (process.gpu.type).
type ProcessType uint8

// The types; ProcessUnknown where the source does not tell.
const (
	ProcessUnknown ProcessType = iota
	ProcessCompute
	ProcessGraphics
	ProcessComputeGraphics
	ProcessMPS
	NumProcessTypes
)

// Process is one process on one device. A process on two devices is two Processes.
type Process struct {
	PID      int64
	DeviceID string // of the leaf device: the MIG instance, not its GPU
	// Location is where the leaf device is, where the source could not read its ID and DeviceID is empty. Node.CompleteIDs
	// sets DeviceID by it and clears it.
	Location Location
	Type     ProcessType

	Memory      Opt[int64] // bytes of device memory
	Utilization [NumTasks]Opt[float64]

	// What the machine tells of the process. Empty or zero where it was not read.
	Created     time.Time
	Executable  string // process.executable.name
	Command     string // process.command
	CommandLine string // process.command_line, only where asked for
	Owner       string // process.owner

	Container *Container // nil where the process is in none, or it cannot be known

	// Cgroup is the whole of /proc/<pid>/cgroup (process.linux.cgroup); empty where it was not read. It is what
	// attribution finds the container by.
	Cgroup string

	// Unread: the machine was not asked for this process, so nothing of what it would tell is known. Without it, a process
	// of which the machine told nothing has ended since the driver was asked.
	Unread bool
}
