// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// Vendor is a vendor of GPUs (hw.vendor).
type Vendor string

// The vendors that the sources read.
const (
	NVIDIA Vendor = "NVIDIA"
	AMD    Vendor = "AMD"
)

// Task is what an engine of a GPU works on (hw.gpu.task).
type Task uint8

// The tasks whose utilization a GPU can report.
const (
	TaskGeneral Task = iota
	TaskEncoder
	TaskDecoder
	TaskJPEG
	TaskOpticalFlow
	TaskMedia // an engine that encodes and decodes (AMD's VCN)
	NumTasks
)

// Sensor is the sensor that measures a temperature (hw.sensor_location).
type Sensor uint8

// SensorGPU is the GPU die (NVIDIA). AMD distinguishes edge and hotspot (junction).
const (
	SensorGPU Sensor = iota
	SensorMemory
	SensorHotspot
	SensorEdge
	NumSensors
)

// Limit is what happens at a limit (hw.limit_type).
type Limit uint8

// LimitDegraded: the device slows down at the limit. LimitCritical: it shuts down. LimitMax: the maximum allowed or possible value; for
// power, the maximum limit that can be set. LimitEnforced: the limit in force, whether a user or the driver set it. LimitMin and
// LimitDefault, for power only: the minimum limit that can be set, and the limit after a start.
const (
	LimitDegraded Limit = iota
	LimitCritical
	LimitMax
	LimitEnforced
	LimitMin
	LimitDefault
	NumLimits
)

// ClockDomain is a part of the GPU with a clock of its own (hw.gpu.clock_domain).
type ClockDomain uint8

// The clock domains.
const (
	ClockGraphics ClockDomain = iota
	ClockSM
	ClockMemory
	ClockVideo
	NumClockDomains
)

// ThrottleReason is why clocks are throttled (hw.gpu.throttle.reason). Idle, application and display clocks are not among the reasons:
// they do not slow down work.
type ThrottleReason uint8

// The reasons of NVML (nvmlClocksEventReason*) and of the amdgpu driver (indep_throttle_status).
const (
	ThrottleSWPowerCap ThrottleReason = iota
	ThrottleHWSlowdown
	ThrottleSyncBoost
	ThrottleSWThermal
	ThrottleHWThermal
	ThrottleHWPowerBrake
	ThrottlePowerPPT       // AMD: package power tracking
	ThrottleCurrent        // AMD: TDC and EDC, electrical current
	ThrottleThermalGPU     // AMD: edge, hotspot
	ThrottleThermalMemory  // AMD: memory, HBM
	ThrottleThermalVR      // AMD: voltage regulators
	ThrottleThermalExtern  // AMD: PROCHOT and liquid cooling
	ThrottleFirmwareReason // AMD: FIT, APCC and the rest
	// These NVML has as times alone (NVML_FI_DEV_PERF_POLICY_*). The numbers of reasons are stored: new ones come last.
	ThrottleBoardLimit
	ThrottleReliability
	ThrottleLowUtilization // and AMD: gfx_low_utilization_acc
	// AMD: below the limit that the host set, because of power or heat (gfx_below_host_limit_ppt_acc, gfx_below_host_limit_thm_acc).
	ThrottleHostLimitPower
	ThrottleHostLimitThermal
	ThrottleUnspecified // AMD: amd-smi says that some reason holds the clocks down, and not which
	NumThrottleReasons
)

// LinkType is the technology of an interconnect between GPUs (hw.gpu.interconnect.type).
type LinkType uint8

// The interconnects.
const (
	NVLink LinkType = iota
	XGMI
	NumLinkTypes
)

// ErrorType is a kind of memory error (ECC, RAS): error.type of hw.errors, and of rows and pages that were taken out of use.
type ErrorType uint8

// The kinds of memory errors. Deferred errors are poison that was not consumed yet (AMD).
const (
	ErrorCorrected ErrorType = iota
	ErrorUncorrected
	ErrorDeferred
	NumErrorTypes
)

// LinkErrorType is a kind of error of an interconnect: error.type of hw.gpu.interconnect.errors.
type LinkErrorType uint8

// The kinds of errors of links.
const (
	LinkErrorCRC LinkErrorType = iota
	LinkErrorReplay
	LinkErrorRecovery
	LinkErrorECC
	// Of NVLink 5, the fields NVML_FI_DEV_NVLINK_COUNT_*. A packet can count in several.
	LinkErrorMalformedPacket    // MALFORMED_PACKET_ERRORS
	LinkErrorBufferOverrun      // BUFFER_OVERRUN_ERRORS
	LinkErrorReceive            // RCV_ERRORS
	LinkErrorReceiveRemote      // RCV_REMOTE_ERRORS
	LinkErrorReceiveGeneral     // RCV_GENERAL_ERRORS
	LinkErrorLocalLinkIntegrity // LOCAL_LINK_INTEGRITY_ERRORS
	LinkErrorTransmitDiscard    // XMIT_DISCARDS
	LinkErrorRecoveryFailed     // LINK_RECOVERY_FAILED_EVENTS; LinkErrorRecovery is LINK_RECOVERY_EVENTS
	LinkErrorEffective          // EFFECTIVE_ERRORS
	LinkErrorSymbol             // SYMBOL_ERRORS
	NumLinkErrorTypes
)

// BitErrorType is a kind of bit errors of a link (hw.gpu.interconnect.ber): NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER and _SYMBOL_BER.
type BitErrorType uint8

// The kinds of bit errors. Effective are those that are left after forward error correction.
const (
	BitErrorEffective BitErrorType = iota
	BitErrorSymbol
	NumBitErrorTypes
)

// FabricState is how far a GPU has registered with the NVLink fabric (hw.gpu.fabric.state, NVML_GPU_FABRIC_STATE_*). It is absent for a GPU
// without a fabric.
type FabricState uint8

// The states of the registration.
const (
	FabricNotStarted FabricState = iota
	FabricInProgress
	FabricCompleted
	NumFabricStates
)

// FabricCondition is what is wrong with a GPU in the NVLink fabric (hw.gpu.fabric.condition).
type FabricCondition uint8

// The conditions of NVML_GPU_FABRIC_HEALTH_MASK_* and of the summary, NVML_GPU_FABRIC_HEALTH_SUMMARY_*.
const (
	FabricDegradedBandwidth FabricCondition = iota
	FabricRouteRecovery                     // goes on
	FabricRouteUnhealthy
	FabricAccessTimeoutRecovery  // goes on
	FabricIncorrectConfiguration // any of the kinds of NVML
	FabricUnhealthy              // of the summary
	FabricLimitedCapacity        // of the summary
	NumFabricConditions
)

// PeerCapability is what a GPU can do with another one (hw.gpu.peer.capability, nvmlGpuP2PCapsIndex_t).
type PeerCapability uint8

// The capabilities.
const (
	PeerRead PeerCapability = iota
	PeerWrite
	PeerNVLink
	PeerAtomics
	PeerPCI
	NumPeerCapabilities
)

// MemoryType is a technology of memory (hw.gpu.memory.type).
type MemoryType uint8

// The technologies: what is on the GPU's chip, and its memory.
const (
	MemorySRAM MemoryType = iota
	MemoryDRAM
	NumMemoryTypes
)

// ErrorLocation is the memory that counted errors (hw.gpu.error.location): nvmlMemoryLocation_t, and the buckets of nvmlEccSramErrorStatus_t.
type ErrorLocation uint8

// The locations. All but LocationDRAM are SRAM.
const (
	LocationDRAM ErrorLocation = iota
	LocationL1
	LocationL2
	LocationRegisterFile
	LocationTexture
	LocationTextureSharedMemory
	LocationCBU
	LocationSM
	LocationMicrocontroller
	LocationPCIe
	LocationOther
	NumErrorLocations
)

// Spares is how many spare rows a bank of the memory has left (hw.gpu.memory.bank.spares, nvmlRowRemapperHistogramValues_t).
type Spares uint8

// From all to none.
const (
	SparesMax Spares = iota
	SparesHigh
	SparesPartial
	SparesLow
	SparesNone
	NumSpares
)

// PCIeDevice is an end of the link to the host (hw.gpu.pcie.device).
type PCIeDevice uint8

// PCIeGPU is the GPU with the switch of its board, if it has one. PCIePort is the port above.
const (
	PCIeGPU PCIeDevice = iota
	PCIePort
	NumPCIeDevices
)

// PCIeErrorType is a kind of PCI Express error: error.type of hw.gpu.pcie.errors, with the words of hw.gpu.pcie_error.
type PCIeErrorType uint8

// The kinds, which the kernel counts in aer_dev_correctable, aer_dev_nonfatal and aer_dev_fatal.
const (
	PCIeCorrected PCIeErrorType = iota
	PCIeNonFatal
	PCIeFatal
	NumPCIeErrorTypes
)

// Pipe is a part of the compute engine (hw.gpu.pipe).
type Pipe uint8

// The pipes of NVML's GPM. Graphics is the whole engine, SM is any warp on an SM, DRAM is the memory interface.
const (
	PipeGraphics Pipe = iota
	PipeSM
	PipeTensor
	PipeFP64
	PipeFP32
	PipeFP16
	PipeInteger
	PipeDRAM
	NumPipes
)

// RecoveryAction is what the driver requests to recover a device (hw.gpu.recovery.action, NVML field 230).
type RecoveryAction uint8

// The actions. RecoveryNone means that the driver requests nothing.
const (
	RecoveryNone RecoveryAction = iota
	RecoveryReset
	RecoveryReboot
	RecoveryDrainP2P
	RecoveryDrainAndReset
	RecoveryBusReset
	RecoveryIMEXDomain // recover the IMEX domain of the device
	RecoveryOther      // an action that this version does not know: Device.RecoveryWord
	NumRecoveryActions
)

// ModeName is a mode of a GPU that can be set (hw.gpu.mode.name).
type ModeName uint8

// The modes of NVML: nvmlDeviceGetPersistenceMode, nvmlDeviceGetComputeMode, nvmlDeviceGetEccMode, nvmlDeviceGetMigMode,
// nvmlDeviceGetVirtualizationMode, nvmlDeviceGetGspFirmwareMode.
const (
	ModePersistence ModeName = iota
	ModeCompute
	ModeECC
	ModeMIG
	ModeVirtualization
	ModeGSP
	NumModes
)
