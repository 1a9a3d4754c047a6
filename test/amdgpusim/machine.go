// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

// None is the value of a quantity that the driver does not support. Its file is not written.
const None = -1

// Machine is a computer with AMD GPUs.
type Machine struct {
	Name      string
	Driver    string // version of AMD's own driver; empty for the kernel's driver, which has no version
	Kernel    string // release of the kernel
	Cards     []*Card
	Others    []PCIFunction // on the bus, without the amdgpu driver
	Processes []Process
}

// PCIFunction is a function on the PCI bus that is not bound to the amdgpu driver.
type PCIFunction struct {
	Address string
	Vendor  uint16
	Class   uint32
	Driver  string // to which it is bound; empty: none
}

// Card is one GPU package.
type Card struct {
	Number    int      // of cardN; the render node is 128 more
	Address   string   // 0000:c1:00.0
	Behind    []Bridge // the bridges above it, from the root port down
	Device    uint16   // PCI ids
	Revision  uint8
	Subsystem uint16
	Class     uint32

	UniqueID uint64 // 0: no file
	Serial   string // empty: no file
	Product  string // empty: no file
	Part     string // number of the board; empty: no file
	VBIOS    string
	NUMANode int
	Status   string // of runtime power management

	Readings Readings
	Metrics  any // one of the tables of tables.go; nil: no file
	RAS      []Block
	BadPages int // of the memory; None: no file
	// BadPageLimit is the number of bad pages from which on the GPU should be replaced, in debugfs; 0: no file.
	BadPageLimit int

	// Of the compute driver.
	GPUID      uint32 // of the first partition; 0: the card has no node
	Target     int    // gfx target version, 90402
	XCCs       int
	SIMDs      int // of the package
	HiveID     uint64
	Compute    string // SPX, CPX; empty: no such file
	MemoryMode string // NPS1
	Partitions []Partition
	IsAPU      bool
}

// Bridge is a PCI bridge above a card.
type Bridge struct {
	Address string
	Vendor  uint16
	Speed   string // its link: "16.0 GT/s PCIe"
	Width   int
}

// Partition is one compute partition of a card. A card in SPX mode has one.
type Partition struct {
	Number int    // of its cardN; the first partition has the card's own
	XCP    string // amdgpu_xcp_3; empty: the card itself
	GPUID  uint32
	Memory int64 // bytes
	Used   int64 // bytes; None: the driver does not report it
	Table  any   // its own metrics table; nil: no file
}

// Readings are the values of the plain files, in the driver's own units.
type Readings struct {
	Busy, MemoryBusy, VideoBusy             int   // %
	VRAM, VRAMUsed, Visible, VisibleUsed    int64 // bytes
	GTT, GTTUsed                            int64 // bytes
	Edge, Junction, Memory                  int   // m°C
	EdgeLimits, JunctionLimits, MemoryLimit Limits
	Average, Instant                        int64 // µW
	Cap, CapMax                             int64 // µW
	Graphics, MemoryClock                   int64 // Hz
	GraphicsLevels, MemoryLevels            []int // MHz; the index of the one in use is below
	GraphicsLevel, MemoryLevel              int
	VideoLevels, DataLevels                 []int
	SOCLevels, FabricLevels                 []int
	Duty                                    int // of 255
	RPM, MaxRPM                             int
	Speed, MaxSpeed                         string // "16.0 GT/s PCIe"
	Width, MaxWidth                         int
	Replays                                 int64
	GraphicsVoltage                         int // mV
}

// Limits are thresholds of a temperature in m°C; 0: none.
type Limits struct{ Critical, Hysteresis, Emergency int }

// Block is the error counts of an IP block. Deferred below 0 is not printed, as by older drivers.
type Block struct {
	Name                             string
	Uncorrected, Corrected, Deferred int64
}

// Process is a process that has GPUs open.
type Process struct {
	PID     int
	Name    string
	Files   []File
	Compute []ComputeUse
}

// File is an open file of a process.
type File struct {
	FD     int
	Target string // the target of its link: /dev/dri/renderD128
	Client *Client
}

// Client is the content of fdinfo for a file of a DRM device.
type Client struct {
	ID      uint64
	Address string
	Keys    []string // further lines: "drm-memory-vram:\t1024 KiB"
}

// ComputeUse is a process's use of a GPU or partition through the compute driver.
type ComputeUse struct {
	GPUID    uint32
	VRAM     int64
	SDMA     int64 // µs
	Evicted  int64 // ms
	Occupied int   // compute units; None: no file
}
