// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"regexp"
	"strings"
)

// Device is one GPU, or one partition of a GPU (a MIG instance, an AMD compute partition), at one instant.
type Device struct {
	// ID is hw.id, see docs/concepts/identity.md. All sources of a vendor report the same one. A source leaves it empty if it cannot read
	// it; then Node.CompleteIDs builds one from the name of the machine and the device's Location.
	ID     string
	Name   string // hw.name: nvidia0, card1
	Model  string // hw.model
	Vendor Vendor // hw.vendor
	Parent string // hw.parent: for a partition, the ID of its GPU; otherwise empty
	// Index is the number of the device that an allocation may mean: NVIDIA's index when the GPU was first seen, which it keeps while
	// another GPU is missing.
	Index Opt[int]
	// CurrentIndex is the number that the vendor's tool has for the device now (hw.gpu.index), for use with its option -i or -d; of a MIG
	// instance, its number on its GPU. A source leaves it absent while the tool does not show the device; the pipeline then sets the last one
	// that no other device has got since. It identifies nothing.
	CurrentIndex Opt[int]

	// Epoch changes when the source knows that the driver's counters have started again (driver reloaded, device reset),
	// even if no total has fallen.
	Epoch uint64

	Info   Info
	Faults []Fault

	Utilization       [NumTasks]Opt[float64] // fraction of time
	MemoryController  Opt[float64]           // fraction of time during which device memory was read or written
	Memory            Memory
	Temperature       [NumSensors]Opt[float64]            // °C
	TemperatureLimit  [NumSensors][NumLimits]Opt[float64] // °C, absolute thresholds
	TemperatureMargin [NumLimits]Opt[float64]             // °C left until the limit (T.Limit)
	TemperatureDetail []SensorValue                       // °C, of stacks of memory and of voltage regulators; only if GroupTemperatureDetail is wanted
	Voltage           []SensorValue                       // V; only if GroupVoltage is wanted
	Power             Power
	Energy            Counter[float64] // joules
	Clocks            [NumClockDomains]Clock
	Throttle          [NumThrottleReasons]Throttle
	PerformanceState  Opt[int64]
	Fans              []Fan
	PCIe              PCIe
	Interconnect      Interconnect
	Fabric            Fabric
	Peers             []Peer // only if GroupPeers is wanted
	Errors            []ErrorCount
	ECC               ECC
	XIDs              []XIDCount
	RemappedRows      RemappedRows
	RetiredPages      RetiredPages
	MemoryBanks       [NumSpares]Opt[int64] // banks of the memory by the spare rows that they have left (nvmlDeviceGetRowRemapperHistogram)
	XCCUtilization    []Opt[float64]        // fraction of time by the number of the XCC; only if GroupXCCUtilization is wanted
	Encoder           Sessions              // nvmlDeviceGetEncoderStats
	FrameBuffer       Sessions              // nvmlDeviceGetFBCStats
	Modes             [NumModes]Mode
	VGPULicensed      Opt[bool]              // of a virtual GPU (nvmlDeviceGetGridLicensableFeatures)
	Pipes             [NumPipes]Opt[float64] // fraction of time or of peak
	Occupancy         Opt[float64]           // resident warps divided by the maximum
	RecoveryAction    Opt[RecoveryAction]
	RecoveryWord      string // what the driver or the tool calls RecoveryOther; otherwise empty

	// Holders are the containers to which the device is allocated. Attribution sets them. HoldersKnown distinguishes a device
	// that is not allocated from a device whose allocation could not be read. HoldersComplete: the device has no other holders.
	Holders         []Holder
	HoldersKnown    bool
	HoldersComplete bool

	// Partition is the number of an AMD compute partition on its GPU; absent for a whole GPU and for a MIG instance.
	Partition Opt[int]
	// GPUInstance and ComputeInstance are the numbers of a MIG instance on its GPU.
	GPUInstance, ComputeInstance Opt[int]
	// Aliases are the other names of the device on its machine, which an allocation may use: card1, renderD128, amdgpu_xcp_3.
	Aliases []string

	// ProcessesUnread: the processes that use the device could not be read, or are not wanted. Otherwise a device without a process in
	// Node.Processes has no processes.
	ProcessesUnread bool

	// Unread: the device is known from earlier reads, this one could not read it, and neither the driver nor the bus says that it
	// failed. It has its identity, no readings and no faults, and its state is unknown. Node.Failure says why.
	Unread bool
}

// Location returns the location of the device. If its PCI address is unknown, its name replaces the address.
func (d *Device) Location() Location {
	return Location{PCIAddress: cmp.Or(d.Info.PCIAddress, d.Name), Partition: d.Partition}
}

// integrated matches the models of NVIDIA GPUs that are a part of a processor: Jetson's (Orin (nvgpu), NVIDIA Thor) and GB10's. They have no
// memory of their own, and the driver may have no reading of them.
var integrated = regexp.MustCompile(`(?i)\b(nvgpu|tegra|xavier|orin|thor|gb10)\b`)

// Integrated reports whether an NVIDIA GPU is a part of a processor, by its model or because it is on no PCI bus.
func (d *Device) Integrated() bool {
	return d.Info.PCIAddress == "" || integrated.MatchString(d.Model)
}

// State returns the worst state that the faults of the device cause: failed, then degraded, then predicted failure. It is meaningless if
// Device.Unread is true.
func (d *Device) State() State {
	state := StateOK
	for _, f := range d.Faults {
		switch s := f.Type.State(); {
		case s == StateFailed:
			return StateFailed
		case s == StateDegraded, state == StateOK:
			state = s
		}
	}
	return state
}

// AddFault adds a fault unless the device has one of this type.
func (d *Device) AddFault(t FaultType, message string) {
	for _, f := range d.Faults {
		if f.Type == t {
			return
		}
	}
	d.Faults = append(d.Faults, Fault{Type: t, Message: message})
}

// RequestUnknownRecovery notes that the driver requests an action that this version does not know: the driver's word for it, or its number.
// The device is degraded, because whatever it is, the driver requests something.
func (d *Device) RequestUnknownRecovery(word string) {
	d.RecoveryAction, d.RecoveryWord = Some(RecoveryOther), word
	d.AddFault(FaultRecovery, "the driver requests a recovery action that this version does not know: "+word)
}

// RecoveryActionOf returns the action with a name of NVML's nvmlDeviceGpuRecoveryAction_t, as nvidia-smi, the kernel's log or the header spell it:
// "GPU Reset Required" or "RESET". It returns RecoveryOther for any other name.
func RecoveryActionOf(name string) RecoveryAction {
	name = strings.NewReplacer(" ", "", "_", "", "-", "", "(", "", ")", "").Replace(strings.ToLower(name))
	switch strings.TrimSuffix(strings.TrimPrefix(name, "gpu"), "required") {
	case "none":
		return RecoveryNone
	case "reset":
		return RecoveryReset
	case "reboot", "nodereboot", "systemreboot":
		return RecoveryReboot
	case "drainp2p":
		return RecoveryDrainP2P
	case "drainandreset", "drainreset":
		return RecoveryDrainAndReset
	case "busreset", "resetbus":
		return RecoveryBusReset
	case "imexdomain", "imexdomainrecovery", "recoverimexdomain":
		return RecoveryIMEXDomain
	default:
		return RecoveryOther
	}
}

// Location is the location of a device in its machine. It identifies a device whose ID could not be read.
type Location struct {
	PCIAddress string   // of the GPU, as in Info.PCIAddress
	Partition  Opt[int] // as in Device.Partition; absent for the whole GPU
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
	// FabricClique and FabricCluster are of nvmlDeviceGetGpuFabricInfo.
	FabricClique, FabricCluster string
	InterconnectVersion         string // of NVLink: 4.0
	BoardPartNumber             string // nvmlDeviceGetBoardPartNumber
	Brand                       string // nvmlDeviceGetBrand, in lower case with underscores: quadro_rtx
	Architecture                string // nvmlDeviceGetArchitecture, or of the gfx target; in lower case: hopper, cdna3
	InfoROMVersion              string // nvmlDeviceGetInforomImageVersion
	CUDAVersion                 string // that the driver supports: 12.4
	NVMLVersion                 string
	MemoryPartition             string // AMD's mode: NPS1
	C2CMode                     string // enabled, disabled: the link to the CPU of the module (nvmlDeviceGetC2cModeInfo)
}

// FirmwareVersion returns the version of a VBIOS as it was read; empty for what drivers and tools have in place of one: xxx-xxx-xxx.
func FirmwareVersion(s string) string {
	if strings.Trim(s, "xX0-. ") == "" {
		return ""
	}
	return s
}

// Memory is the memory of a device in bytes.
type Memory struct {
	Limit     Opt[int64] // size
	Usage     Opt[int64] // allocated, without the memory that the driver reserves
	Reserved  Opt[int64] // reserved by driver and firmware
	Protected Opt[int64] // used memory of the confidential-computing part

	// VisibleLimit and VisibleUsage are of the part of the memory that the CPU can access (AMD's visible VRAM).
	VisibleLimit, VisibleUsage Opt[int64]
	// SystemLimit and SystemUsage are of the system memory that the device may map (AMD's GTT), which is most of the used memory
	// of a GPU without memory of its own. They must never be added to the other values.
	SystemLimit, SystemUsage Opt[int64]
	// BAR1Limit and BAR1Usage are of the window for accesses over PCI Express (nvmlDeviceGetBAR1MemoryInfo).
	BAR1Limit, BAR1Usage Opt[int64]
}

// Power is the power that a device draws, in watts.
type Power struct {
	Draw    Opt[float64] // the average that the driver reports, otherwise the instantaneous value
	Instant Opt[float64]
	Module  Opt[float64] // the whole module, including CPU and memory
	Memory  Opt[float64] // of the GPU
	Limit   [NumLimits]Opt[float64]
}

// Clock is the frequency of a clock domain, in hertz.
type Clock struct{ Speed, Limit Opt[float64] }

// Throttle is one reason for throttling.
type Throttle struct {
	Active Opt[bool]        // absent if the device cannot report the reason
	Time   Counter[float64] // seconds
}

// Fan is the speed of a fan.
type Fan struct {
	Location string       // hw.sensor_location: fan0
	Ratio    Opt[float64] // fraction of the maximum
	Speed    Opt[int64]   // revolutions a minute
}

// SensorValue is what one sensor measures.
type SensorValue struct {
	Location string // hw.sensor_location: hbm0, vr_gfx
	Value    Opt[float64]
}

// Sessions are the sessions of an engine that works on frames.
type Sessions struct {
	Count     Opt[int64]
	FrameRate Opt[float64] // mean frames a second of the sessions
	Latency   Opt[float64] // mean time of a frame, in seconds
}

// Mode is what a mode of a GPU is set to.
type Mode struct {
	Value   string    // in lower case with underscores: enabled, exclusive_process; empty if it is not known
	Pending Opt[bool] // another value waits for a reset or a restart; absent if the driver knows no pending value of the mode
}

// PCIe is the link of a device to the host. Transmitted is what the GPU sends.
type PCIe struct {
	Transmitted, Received       Counter[int64] // bytes
	Replays                     Counter[int64] // packets that were sent again
	Generation, GenerationLimit Opt[int64]
	Width, WidthLimit           Opt[int64] // lanes

	// Errors are those that the kernel counts (AER) at each end of the link. internal/pci reads them for the sources of this machine.
	Errors [NumPCIeDevices][NumPCIeErrorTypes]Counter[int64]

	// Of AMD's table of metrics, or its tools.
	NAKsTransmitted, NAKsReceived Counter[int64]
	ReplayRollovers               Counter[int64] // a packet was sent again so often that the link was trained again
	Recoveries                    Counter[int64] // from the state L0 into recovery
}

// Interconnect is the links of a device to other GPUs.
type Interconnect struct {
	Type                  LinkType
	Transmitted, Received Counter[int64] // bytes, over all links
	Errors                [NumLinkErrorTypes]Counter[int64]
	// Links are read only if one of the groups of single links is wanted, and have the values of these groups.
	Links []Link
}

// Link is one link of an interconnect.
type Link struct {
	Name                  string // hw.gpu.interconnect.link: the link's number
	Transmitted, Received Counter[int64]
	Errors                [NumLinkErrorTypes]Counter[int64]
	Up                    Opt[bool]
	Bandwidth             Opt[float64] // bytes a second in one direction, at the present speed
	Width                 Opt[int64]   // lanes (AMD)
	BitErrorRatio         [NumBitErrorTypes]Opt[float64]
	FEC                   [NumFECBins]Counter[int64] // errors corrected, by the bins of the driver's histogram
}

// NumFECBins is the number of the bins of NVML's fields NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_*.
const NumFECBins = 16

// Fabric is the registration of a GPU with the NVLink fabric (nvmlDeviceGetGpuFabricInfo).
type Fabric struct {
	State Opt[FabricState] // absent if the GPU has no fabric
	// Failure is why the registration failed, if State is FabricCompleted and its status is an error; otherwise empty.
	Failure    string
	Conditions [NumFabricConditions]Opt[bool] // absent if the driver does not report the condition
}

// Peer is what a GPU can do with another one of its machine (nvmlDeviceGetP2PStatus).
type Peer struct {
	ID           string // of the other GPU
	Capabilities [NumPeerCapabilities]Opt[bool]
}

// ECC is what is known of memory errors beyond Device.Errors.
type ECC struct {
	// Memory are the errors since the driver was loaded, of SRAM apart from DRAM. Their sum is Device.Errors.
	Memory [NumMemoryTypes][NumErrorTypes]Counter[int64]
	// SRAMThresholdExceeded: SRAM has had more uncorrectable errors than the vendor allows (nvmlDeviceGetSramEccErrorStatus).
	SRAMThresholdExceeded Opt[bool]
	Locations             []LocationErrors // only if GroupECCLocations is wanted
}

// LocationErrors are the errors of one memory of the chip since the board was made.
type LocationErrors struct {
	Location ErrorLocation
	Type     ErrorType
	Count    Counter[int64]
}

// ErrorCount is the number of memory errors of one kind.
type ErrorCount struct {
	Type  ErrorType
	Block string // hw.gpu.error.block: the IP block of AMD in lower case; otherwise empty
	Count Counter[int64]
	// Lifetime: counted since manufacture (aggregate ECC). Other errors are counted since the driver was loaded.
	Lifetime bool
}

// XIDCount is the number of errors with one code that NVIDIA's driver has reported since counting started.
type XIDCount struct {
	XID   int64
	Count Counter[int64]
}

// RemappedRows are memory rows replaced by spare rows (Ampere and later).
type RemappedRows struct {
	Corrected, Uncorrected Counter[int64]
	Pending, Failed        Opt[bool]
}

// RetiredPages are memory pages taken out of use (boards of NVIDIA before Ampere, and AMD's).
type RetiredPages struct {
	Corrected, Uncorrected Counter[int64]
	Pending                Opt[bool]
	// Bad is the number of pages that AMD's driver lists as bad.
	Bad Opt[int64]
	// BadLimit is the number of bad pages from which on AMD's driver says that the GPU should be replaced.
	BadLimit Opt[int64]
}
