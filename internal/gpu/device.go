// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "cmp"

// Device is one GPU, or one partition of a GPU (a MIG instance, an AMD compute partition), at one instant.
type Device struct {
	// ID is hw.id: see docs/design.md, the same from every source of a vendor. A source leaves it empty where it cannot read it;
	// Node.CompleteIDs then makes one of the machine's name and the device's Location.
	ID     string
	Name   string // hw.name: nvidia0, card1
	Model  string // hw.model
	Vendor Vendor // hw.vendor
	Parent string // hw.parent: the ID of the GPU of which this is a partition, else empty
	Index  Opt[int]

	// Epoch changes when the source knows that the driver's counters have started anew (driver reloaded, device reset),
	// even where no total has fallen.
	Epoch uint64

	Info   Info
	Faults []Fault

	Utilization       [NumTasks]Opt[float64] // fraction of time
	MemoryController  Opt[float64]           // fraction of time in which device memory was read or written
	Memory            Memory
	Temperature       [NumSensors]Opt[float64]            // °C
	TemperatureLimit  [NumSensors][NumLimits]Opt[float64] // °C, absolute thresholds
	TemperatureMargin [NumLimits]Opt[float64]             // °C left until the limit (T.Limit)
	Power             Power
	Energy            Counter[float64] // joules
	Clocks            [NumClockDomains]Clock
	Throttle          [NumThrottleReasons]Throttle
	PerformanceState  Opt[int64]
	Fans              []Fan
	PCIe              PCIe
	Interconnect      Interconnect
	Errors            []ErrorCount
	RemappedRows      RemappedRows
	RetiredPages      RetiredPages
	Pipes             [NumPipes]Opt[float64] // fraction of time or of peak
	Occupancy         Opt[float64]           // resident warps by the most there can be
	RecoveryAction    Opt[RecoveryAction]

	// Holders are the containers to which the device is allocated; attribution fills them in. HoldersKnown tells an
	// unallocated device from one whose allocation could not be read.
	Holders      []Holder
	HoldersKnown bool

	// Partition is the number of an AMD compute partition on its GPU; absent for a whole GPU and for a MIG instance.
	Partition Opt[int]
	// GPUInstance and ComputeInstance are the numbers of a MIG instance on its GPU.
	GPUInstance, ComputeInstance Opt[int]
	// Aliases are the other names that the device has on its machine, under which an allocation may name it: card1,
	// renderD128, amdgpu_xcp_3.
	Aliases []string

	// ProcessesUnread: which processes use the device could not be read, or was not asked for. Otherwise a device without
	// a process in Node.Processes has none.
	ProcessesUnread bool
}

// Location is where a device is in its machine. It identifies a device whose ID could not be read.
type Location struct {
	PCIAddress string   // of the GPU, as in Info
	Partition  Opt[int] // as in Device; absent where the whole GPU is meant
}

// Location returns where the device is. The device's name stands in for a PCI address that is not known.
func (d *Device) Location() Location {
	return Location{PCIAddress: cmp.Or(d.Info.PCIAddress, d.Name), Partition: d.Partition}
}

// Compare orders locations by address, a GPU before its partitions.
func (l Location) Compare(other Location) int {
	number := func(l Location) int {
		if n, ok := l.Partition.Get(); ok {
			return n
		}
		return -1
	}
	return cmp.Or(cmp.Compare(l.PCIAddress, other.PCIAddress), cmp.Compare(number(l), number(other)))
}

// Info describes a device. What is not known is empty.
type Info struct {
	Serial            string
	DriverVersion     string
	FirmwareVersion   string // VBIOS
	PCIAddress        string // domain:bus:device.function, lower case, four-digit domain
	Profile           string // partition profile: 3g.40gb, CPX
	ComputeCapability string // CUDA compute capability (9.0) or AMD gfx target (gfx942)
	NUMANode          Opt[int64]
}

// Memory is a device's own memory in bytes. Memory that belongs to the system is not in it.
type Memory struct {
	Limit     Opt[int64] // size
	Usage     Opt[int64] // allocated, what the driver reserves not counted
	Reserved  Opt[int64] // held back by driver and firmware
	Protected Opt[int64] // used, of the confidential-computing part

	// VisibleLimit and VisibleUsage are of that part of it which the CPU can reach (AMD's visible VRAM).
	VisibleLimit, VisibleUsage Opt[int64]
	// SystemLimit and SystemUsage are of the system's memory that the device may map (AMD's GTT). It is the machine's own,
	// and on a GPU that shares the machine's memory most of what is used: never to be added to the rest.
	SystemLimit, SystemUsage Opt[int64]
}

// Power is what a device draws, in watts.
type Power struct {
	Draw    Opt[float64] // averaged by the driver, where it averages
	Instant Opt[float64]
	Module  Opt[float64] // the whole module, CPU and memory included
	Limit   [NumLimits]Opt[float64]
}

// Clock is the frequency of a clock domain, in hertz.
type Clock struct{ Speed, Limit Opt[float64] }

// Throttle is one reason for which the clocks are held down.
type Throttle struct {
	Active Opt[bool]        // absent where the device cannot report the reason
	Time   Counter[float64] // seconds
}

// Fan is a fan's speed as a fraction of its maximum. A device without a fan has none.
type Fan struct {
	Location string // hw.sensor_location: fan0
	Ratio    Opt[float64]
}

// PCIe is a device's link to the host. Directions are the GPU's: transmitted is what the GPU sends.
type PCIe struct {
	Transmitted, Received       Counter[int64] // bytes
	Generation, GenerationLimit Opt[int64]
	Width, WidthLimit           Opt[int64] // lanes
}

// Interconnect is the links between GPUs.
type Interconnect struct {
	Type                  LinkType
	Transmitted, Received Counter[int64] // bytes, over all links
	Links                 []Link         // only where single links were asked for
}

// Link is one link of an interconnect.
type Link struct {
	Name                  string // hw.gpu.interconnect.link: the link's number
	Transmitted, Received Counter[int64]
	Errors                []ErrorCount
}

// ErrorCount is a number of errors of one kind.
type ErrorCount struct {
	Type  ErrorType
	XID   int64  // NVIDIA's code where Type is ErrorXID
	Block string // hw.gpu.error.block: the IP block on AMD, lower case; empty elsewhere
	Count Counter[int64]
	// Lifetime: counted since manufacture (aggregate ECC), recorded apart from those since the driver was loaded.
	Lifetime bool
}

// RemappedRows are memory rows replaced by spares (Ampere and later).
type RemappedRows struct {
	Corrected, Uncorrected Counter[int64]
	Pending, Failed        Opt[bool]
}

// RetiredPages are memory pages taken out of use (before Ampere).
type RetiredPages struct {
	Corrected, Uncorrected Counter[int64]
	Pending                Opt[bool]
}
