// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "time"

// ProcessType is how a process uses a device (process.gpu.type).
type ProcessType uint8

// The types. ProcessUnknown: the source does not report the type.
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
	// Location is the location of the leaf device. It is set if the source could not read the ID of the device, and DeviceID is empty.
	// Node.CompleteIDs sets DeviceID from it and clears it.
	Location Location
	Type     ProcessType

	Memory           Opt[int64]             // bytes of device memory
	SystemMemory     Opt[int64]             // bytes of system memory held through the driver of a GPU without memory of its own (AMD GTT)
	Utilization      [NumTasks]Opt[float64] // fraction of time
	MemoryController Opt[float64]           // fraction of time during which the process read or wrote device memory
	SDMATime         Counter[float64]       // seconds during which AMD's copy engines worked for the process, since its start
	EvictedTime      Counter[float64]       // seconds during which its queues on an AMD GPU were not allowed to run, since its start (KFD's evicted_ms)

	// Read from the process table of the machine. Empty or zero if not read.
	Created     time.Time
	Program     string     // the path of the executable (/proc/<pid>/exe)
	Executable  string     // process.executable.name: the base name of Program, else the command name, else the tool's name for the process
	Command     string     // process.command
	CommandLine string     // process.command_line, only if enabled
	UserID      Opt[int64] // process.user.id: the effective user ID
	Owner       string     // process.owner: the name of that user

	Container *Container // nil if the process is not in a container or its container is unknown

	// Cgroup is the content of /proc/<pid>/cgroup (process.linux.cgroup), or empty if it was not read. Attribution finds the
	// container by it.
	Cgroup string

	// Unread: the process table was not read for this process. Otherwise a process without details has ended since the driver
	// listed it.
	Unread bool
}
