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
	NumTasks
)

// Sensor is where a temperature is taken (hw.sensor_location).
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

// LimitDegraded: the device slows down at the limit. LimitCritical: it shuts down. LimitMax: the highest allowed or possible value; of
// power the highest limit that can be set. LimitEnforced: the limit in force, whoever set it.
const (
	LimitDegraded Limit = iota
	LimitCritical
	LimitMax
	LimitEnforced
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
	NumLinkErrorTypes
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
