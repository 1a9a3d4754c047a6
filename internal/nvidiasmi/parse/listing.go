// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// Bounds on one output. What exceeds them is dropped and counted.
const (
	maxGPUs      = 256
	maxMIG       = 64 // for each GPU; the hardware has room for 7 to 14 MIG devices
	maxProcesses = 16384
	maxRefusals  = 64 // for each GPU
)

// Listing is what one query of all GPUs printed: the XML of -q -x, or the table of --query-gpu.
type Listing struct {
	DriverVersion string
	Attached      gpu.Opt[int64] // GPUs that the driver counts, including those that the tool then omits
	GPUs          []GPU
	// Complete is false if the output ends early: a GPU that is not in GPUs may have been cut off.
	Complete bool
	// Dropped counts GPUs, MIG devices, processes and rows that exceeded a bound or could not be read.
	Dropped int
}

// GPU is one GPU of a Listing.
type GPU struct {
	// Device has everything but a Name. Its Index is absent in XML, which does not print it.
	Device gpu.Device
	Minor  gpu.Opt[int64] // number of the device node /dev/nvidia<minor>
	// MinorFailed is true if the tool printed an error instead of the number of the device node.
	MinorFailed bool
	// Unreadable is true if the tool printed, instead of values, that the GPU cannot be reached or is lost, or an error for each of them.
	// Such a GPU has its identity and the fault, and no values.
	Unreadable bool
	// ResetRequired is true if the tool printed, instead of some values, that the GPU needs a reset. It has the others.
	ResetRequired bool
	// Silent is true if the tool says of each reading that the GPU does not have it, of the size of the memory too.
	Silent     bool
	MIGEnabled gpu.Opt[bool]
	// TLimit falls as the GPU gets hotter. TLimitPoints are its values at the limits, which XML alone has: -8 °C when the GPU shuts down.
	TLimit       gpu.Opt[float64]
	TLimitPoints [gpu.NumLimits]gpu.Opt[float64]
	MIGDevices   []MIGDevice
	Processes    []Process
	// ProcessesRead is true if an empty Processes means that the GPU has no process. A table of GPUs does not show processes.
	ProcessesRead bool
	Refusals      []Refusal
}

// AddMargins adds how many degrees are left until T.Limit has fallen to its value at each limit.
func (g *GPU) AddMargins(points *[gpu.NumLimits]gpu.Opt[float64]) {
	tLimit, ok := g.TLimit.Get()
	for limit := range points {
		if point, known := points[limit].Get(); ok && known {
			g.Device.TemperatureMargin[limit] = gpu.Some(tLimit - point)
		}
	}
}

// MIGDevice is a MIG device of a GPU.
type MIGDevice struct {
	Index, GI, CI   gpu.Opt[int64] // GI and CI number its GPU instance and its compute instance
	UUID            string         // empty in the XML of most versions; -L prints it
	Profile         string
	Memory          gpu.Memory
	Multiprocessors gpu.Opt[int64]
	Uncorrected     gpu.Opt[int64] // uncorrected SRAM errors since the driver was loaded
}

// Process is a process on a GPU. One of UUID, PCI and Index identifies the GPU, or the GPU that contains the Process.
type Process struct {
	UUID  string
	PCI   string
	Index gpu.Opt[int64]

	PID              int64
	Type             gpu.ProcessType
	Name             string         // as printed: a path, a command line, or the first 15 characters of a name
	Memory           gpu.Opt[int64] // bytes
	Utilization      [gpu.NumTasks]gpu.Opt[float64]
	MemoryController gpu.Opt[float64]
	GI, CI           gpu.Opt[int64] // the MIG device's GPU instance and compute instance
}

// Refusal is a quantity for which the tool printed an error instead of a number. That the GPU does not have the quantity is
// no refusal.
type Refusal struct {
	Quantity string
	Reason   string
}

// NoPermission reports whether the quantity was refused for lack of permission.
func (r Refusal) NoPermission() bool {
	reason := []byte(r.Reason)
	return containsFold(reason, "permission") || containsFold(reason, "blocked by the operating system")
}
