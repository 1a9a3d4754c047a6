// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// Bounds on what one output may hold; what is above is dropped and counted.
const (
	maxGPUs      = 256
	maxMIG       = 64 // per GPU; the hardware has room for 7 to 14 instances
	maxProcesses = 16384
	maxRefusals  = 64 // per GPU
)

// Listing is what one listing of GPUs tells, as XML or as a table.
type Listing struct {
	DriverVersion string
	Attached      gpu.Opt[int64] // GPUs that the driver counts, those included that the tool then leaves out
	GPUs          []GPU
	// Complete is false where the output ends early: a GPU that is not in GPUs may have been cut off.
	Complete bool
	// Dropped counts what was above a bound or could not be read: GPUs, MIG instances, processes, rows.
	Dropped int
}

// GPU is what a listing tells of one GPU.
type GPU struct {
	// Device has everything but a Name. Its Index is absent in XML, which does not print it.
	Device gpu.Device
	Minor  gpu.Opt[int64] // number of the device node /dev/nvidia<minor>
	// Unreadable: in the place of readings stands that the GPU cannot be reached, is lost or must be reset. It then has what it is, and that
	// fault, and no readings.
	Unreadable bool
	MIGEnabled gpu.Opt[bool] // whether MIG mode is on
	MIGDevices []MIGDevice
	Processes  []Process
	// ProcessesRead: no process in Processes means that there is none. A table of GPUs says nothing of processes.
	ProcessesRead bool
	Refusals      []Refusal
}

// MIGDevice is a MIG device.
type MIGDevice struct {
	Index, GI, CI   gpu.Opt[int64]
	UUID            string // empty in most versions' XML; -L tells it
	Profile         string
	Memory          gpu.Memory
	Multiprocessors gpu.Opt[int64]
	Uncorrected     gpu.Opt[int64] // SRAM errors since the driver was loaded
}

// Process is a process on a GPU. The GPU is named by one of UUID, PCI and Index, or by the GPU that holds the Process.
type Process struct {
	UUID  string
	PCI   string
	Index gpu.Opt[int64]

	PID         int64
	Type        gpu.ProcessType
	Name        string // as printed: a path, a command line, or the first 15 characters of a name
	Memory      gpu.Opt[int64]
	Utilization [gpu.NumTasks]gpu.Opt[float64]
	GI, CI      gpu.Opt[int64] // the MIG device's GPU instance and compute instance
}

// Refusal is a quantity for which the tool printed a reason instead of a number, other than that the board has none.
type Refusal struct {
	Quantity string
	Reason   string
}
