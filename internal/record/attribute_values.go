// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// The values of the vocabulary as attribute values. A test checks that each table is complete.
var (
	tasks = [gpu.NumTasks]metadata.AttributeHwGpuTask{
		gpu.TaskGeneral:     metadata.AttributeHwGpuTaskGeneral,
		gpu.TaskEncoder:     metadata.AttributeHwGpuTaskEncoder,
		gpu.TaskDecoder:     metadata.AttributeHwGpuTaskDecoder,
		gpu.TaskJPEG:        metadata.AttributeHwGpuTaskJpeg,
		gpu.TaskOpticalFlow: metadata.AttributeHwGpuTaskOpticalFlow,
		gpu.TaskMedia:       metadata.AttributeHwGpuTaskMedia,
	}
	sensors = [gpu.NumSensors]string{
		gpu.SensorGPU:     "gpu",
		gpu.SensorMemory:  "memory",
		gpu.SensorHotspot: "hotspot",
		gpu.SensorEdge:    "edge",
	}
	limits = [gpu.NumLimits]metadata.AttributeHwLimitType{
		gpu.LimitDegraded: metadata.AttributeHwLimitTypeHighDegraded,
		gpu.LimitCritical: metadata.AttributeHwLimitTypeHighCritical,
		gpu.LimitMax:      metadata.AttributeHwLimitTypeMax,
		gpu.LimitEnforced: metadata.AttributeHwLimitTypeEnforced,
		gpu.LimitMin:      metadata.AttributeHwLimitTypeMin,
		gpu.LimitDefault:  metadata.AttributeHwLimitTypeDefault,
	}
	clockDomains = [gpu.NumClockDomains]metadata.AttributeHwGpuClockDomain{
		gpu.ClockGraphics: metadata.AttributeHwGpuClockDomainGraphics,
		gpu.ClockSM:       metadata.AttributeHwGpuClockDomainSm,
		gpu.ClockMemory:   metadata.AttributeHwGpuClockDomainMemory,
		gpu.ClockVideo:    metadata.AttributeHwGpuClockDomainVideo,
	}
	throttleReasons = [gpu.NumThrottleReasons]metadata.AttributeHwGpuThrottleReason{
		gpu.ThrottleSWPowerCap:     metadata.AttributeHwGpuThrottleReasonSwPowerCap,
		gpu.ThrottleHWSlowdown:     metadata.AttributeHwGpuThrottleReasonHwSlowdown,
		gpu.ThrottleSyncBoost:      metadata.AttributeHwGpuThrottleReasonSyncBoost,
		gpu.ThrottleSWThermal:      metadata.AttributeHwGpuThrottleReasonSwThermalSlowdown,
		gpu.ThrottleHWThermal:      metadata.AttributeHwGpuThrottleReasonHwThermalSlowdown,
		gpu.ThrottleHWPowerBrake:   metadata.AttributeHwGpuThrottleReasonHwPowerBrakeSlowdown,
		gpu.ThrottlePowerPPT:       metadata.AttributeHwGpuThrottleReasonPower,
		gpu.ThrottleCurrent:        metadata.AttributeHwGpuThrottleReasonCurrent,
		gpu.ThrottleThermalGPU:     metadata.AttributeHwGpuThrottleReasonThermalGpu,
		gpu.ThrottleThermalMemory:  metadata.AttributeHwGpuThrottleReasonThermalMemory,
		gpu.ThrottleThermalVR:      metadata.AttributeHwGpuThrottleReasonThermalVr,
		gpu.ThrottleThermalExtern:  metadata.AttributeHwGpuThrottleReasonThermalExternal,
		gpu.ThrottleFirmwareReason: metadata.AttributeHwGpuThrottleReasonFirmware,

		gpu.ThrottleBoardLimit:       metadata.AttributeHwGpuThrottleReasonBoardLimit,
		gpu.ThrottleReliability:      metadata.AttributeHwGpuThrottleReasonReliability,
		gpu.ThrottleLowUtilization:   metadata.AttributeHwGpuThrottleReasonLowUtilization,
		gpu.ThrottleHostLimitPower:   metadata.AttributeHwGpuThrottleReasonHostLimitPower,
		gpu.ThrottleHostLimitThermal: metadata.AttributeHwGpuThrottleReasonHostLimitThermal,
		gpu.ThrottleUnspecified:      metadata.AttributeHwGpuThrottleReasonUnspecified,
	}
	modes = [gpu.NumModes]metadata.AttributeHwGpuModeName{
		gpu.ModePersistence:    metadata.AttributeHwGpuModeNamePersistence,
		gpu.ModeCompute:        metadata.AttributeHwGpuModeNameCompute,
		gpu.ModeECC:            metadata.AttributeHwGpuModeNameEcc,
		gpu.ModeMIG:            metadata.AttributeHwGpuModeNameMig,
		gpu.ModeVirtualization: metadata.AttributeHwGpuModeNameVirtualization,
		gpu.ModeGSP:            metadata.AttributeHwGpuModeNameGsp,
	}
	linkTypes = [gpu.NumLinkTypes]metadata.AttributeHwGpuInterconnectType{
		gpu.NVLink: metadata.AttributeHwGpuInterconnectTypeNvlink,
		gpu.XGMI:   metadata.AttributeHwGpuInterconnectTypeXgmi,
	}
	errorTypes = [gpu.NumErrorTypes]string{
		gpu.ErrorCorrected:   "corrected",
		gpu.ErrorUncorrected: "uncorrected",
		gpu.ErrorDeferred:    "deferred",
	}
	// error.type of the events of hardware errors, which distinguish more than the counters do.
	errorClasses = [gpu.NumErrorClasses]string{
		gpu.ClassCorrected:   "corrected",
		gpu.ClassDeferred:    "deferred",
		gpu.ClassUncorrected: "uncorrected",
		gpu.ClassPoison:      "poison",
		gpu.ClassNonFatal:    "non_fatal",
		gpu.ClassFatal:       "fatal",
	}
	resetStates = [gpu.NumResetStates]metadata.AttributeHwGpuResetState{
		gpu.ResetStarted:   metadata.AttributeHwGpuResetStateStarted,
		gpu.ResetSucceeded: metadata.AttributeHwGpuResetStateSucceeded,
		gpu.ResetFailed:    metadata.AttributeHwGpuResetStateFailed,
	}
	linkErrorTypes = [gpu.NumLinkErrorTypes]string{
		gpu.LinkErrorCRC:      "crc",
		gpu.LinkErrorReplay:   "replay",
		gpu.LinkErrorRecovery: "recovery",
		gpu.LinkErrorECC:      "ecc",

		gpu.LinkErrorMalformedPacket:    "malformed_packet",
		gpu.LinkErrorBufferOverrun:      "buffer_overrun",
		gpu.LinkErrorReceive:            "receive",
		gpu.LinkErrorReceiveRemote:      "receive_remote",
		gpu.LinkErrorReceiveGeneral:     "receive_general",
		gpu.LinkErrorLocalLinkIntegrity: "local_link_integrity",
		gpu.LinkErrorTransmitDiscard:    "transmit_discard",
		gpu.LinkErrorRecoveryFailed:     "recovery_failed",
		gpu.LinkErrorEffective:          "effective",
		gpu.LinkErrorSymbol:             "symbol",
	}
	bitErrorTypes = [gpu.NumBitErrorTypes]metadata.AttributeHwGpuInterconnectBer{
		gpu.BitErrorEffective: metadata.AttributeHwGpuInterconnectBerEffective,
		gpu.BitErrorSymbol:    metadata.AttributeHwGpuInterconnectBerSymbol,
	}
	fabricStates = [gpu.NumFabricStates]metadata.AttributeHwGpuFabricState{
		gpu.FabricNotStarted: metadata.AttributeHwGpuFabricStateNotStarted,
		gpu.FabricInProgress: metadata.AttributeHwGpuFabricStateInProgress,
		gpu.FabricCompleted:  metadata.AttributeHwGpuFabricStateCompleted,
	}
	fabricConditions = [gpu.NumFabricConditions]metadata.AttributeHwGpuFabricCondition{
		gpu.FabricDegradedBandwidth:      metadata.AttributeHwGpuFabricConditionDegradedBandwidth,
		gpu.FabricRouteRecovery:          metadata.AttributeHwGpuFabricConditionRouteRecovery,
		gpu.FabricRouteUnhealthy:         metadata.AttributeHwGpuFabricConditionRouteUnhealthy,
		gpu.FabricAccessTimeoutRecovery:  metadata.AttributeHwGpuFabricConditionAccessTimeoutRecovery,
		gpu.FabricIncorrectConfiguration: metadata.AttributeHwGpuFabricConditionIncorrectConfiguration,
		gpu.FabricUnhealthy:              metadata.AttributeHwGpuFabricConditionUnhealthy,
		gpu.FabricLimitedCapacity:        metadata.AttributeHwGpuFabricConditionLimitedCapacity,
	}
	peerCapabilities = [gpu.NumPeerCapabilities]metadata.AttributeHwGpuPeerCapability{
		gpu.PeerRead:    metadata.AttributeHwGpuPeerCapabilityRead,
		gpu.PeerWrite:   metadata.AttributeHwGpuPeerCapabilityWrite,
		gpu.PeerNVLink:  metadata.AttributeHwGpuPeerCapabilityNvlink,
		gpu.PeerAtomics: metadata.AttributeHwGpuPeerCapabilityAtomics,
		gpu.PeerPCI:     metadata.AttributeHwGpuPeerCapabilityPci,
	}
	memoryTypes = [gpu.NumMemoryTypes]metadata.AttributeHwGpuMemoryType{
		gpu.MemorySRAM: metadata.AttributeHwGpuMemoryTypeSram,
		gpu.MemoryDRAM: metadata.AttributeHwGpuMemoryTypeDram,
	}
	errorLocations = [gpu.NumErrorLocations]metadata.AttributeHwGpuErrorLocation{
		gpu.LocationDRAM:                metadata.AttributeHwGpuErrorLocationDram,
		gpu.LocationL1:                  metadata.AttributeHwGpuErrorLocationSramL1,
		gpu.LocationL2:                  metadata.AttributeHwGpuErrorLocationSramL2,
		gpu.LocationRegisterFile:        metadata.AttributeHwGpuErrorLocationSramRegisterFile,
		gpu.LocationTexture:             metadata.AttributeHwGpuErrorLocationSramTexture,
		gpu.LocationTextureSharedMemory: metadata.AttributeHwGpuErrorLocationSramTextureShm,
		gpu.LocationCBU:                 metadata.AttributeHwGpuErrorLocationSramCbu,
		gpu.LocationSM:                  metadata.AttributeHwGpuErrorLocationSramSm,
		gpu.LocationMicrocontroller:     metadata.AttributeHwGpuErrorLocationSramMicrocontroller,
		gpu.LocationPCIe:                metadata.AttributeHwGpuErrorLocationSramPcie,
		gpu.LocationOther:               metadata.AttributeHwGpuErrorLocationSramOther,
	}
	bankSpares = [gpu.NumSpares]metadata.AttributeHwGpuMemoryBankSpares{
		gpu.SparesMax:     metadata.AttributeHwGpuMemoryBankSparesMax,
		gpu.SparesHigh:    metadata.AttributeHwGpuMemoryBankSparesHigh,
		gpu.SparesPartial: metadata.AttributeHwGpuMemoryBankSparesPartial,
		gpu.SparesLow:     metadata.AttributeHwGpuMemoryBankSparesLow,
		gpu.SparesNone:    metadata.AttributeHwGpuMemoryBankSparesNone,
	}
	pcieDevices = [gpu.NumPCIeDevices]metadata.AttributeHwGpuPcieDevice{
		gpu.PCIeGPU:  metadata.AttributeHwGpuPcieDeviceGpu,
		gpu.PCIePort: metadata.AttributeHwGpuPcieDevicePort,
	}
	// The words of errorClasses, which the events of the same errors have.
	pcieErrorTypes = [gpu.NumPCIeErrorTypes]string{
		gpu.PCIeCorrected: "corrected",
		gpu.PCIeNonFatal:  "non_fatal",
		gpu.PCIeFatal:     "fatal",
	}
	faultTypes = func() (names [gpu.NumFaultTypes]string) {
		for _, r := range gpu.Remedies {
			names[r.Fault] = r.Name
		}
		return names
	}()
	failureReasons = [gpu.NumFailureReasons]string{
		gpu.FailureOther:            "_OTHER", // as the conventions name an error without a name of its own
		gpu.FailureToolMissing:      "tool_missing",
		gpu.FailureToolFailed:       "tool_failed",
		gpu.FailureTimeout:          "timeout",
		gpu.FailurePermission:       "permission_denied",
		gpu.FailureLibrary:          "library",
		gpu.FailureDriver:           "driver",
		gpu.FailureOutput:           "output",
		gpu.FailureAPIUnreachable:   "api_unreachable",
		gpu.FailureAPIUnauthorized:  "api_unauthorized",
		gpu.FailureAPIForbidden:     "api_forbidden",
		gpu.FailureExec:             "exec_failed",
		gpu.FailureContainerMissing: "container_missing",
	}
	states = [gpu.NumStates]metadata.AttributeHwState{
		gpu.StateOK:               metadata.AttributeHwStateOk,
		gpu.StateDegraded:         metadata.AttributeHwStateDegraded,
		gpu.StateFailed:           metadata.AttributeHwStateFailed,
		gpu.StatePredictedFailure: metadata.AttributeHwStatePredictedFailure,
	}
	pipes = [gpu.NumPipes]metadata.AttributeHwGpuPipe{
		gpu.PipeGraphics: metadata.AttributeHwGpuPipeGraphics,
		gpu.PipeSM:       metadata.AttributeHwGpuPipeSm,
		gpu.PipeTensor:   metadata.AttributeHwGpuPipeTensor,
		gpu.PipeFP64:     metadata.AttributeHwGpuPipeFp64,
		gpu.PipeFP32:     metadata.AttributeHwGpuPipeFp32,
		gpu.PipeFP16:     metadata.AttributeHwGpuPipeFp16,
		gpu.PipeInteger:  metadata.AttributeHwGpuPipeInteger,
		gpu.PipeDRAM:     metadata.AttributeHwGpuPipeDram,
	}
	// An action that this version does not know has the driver's word: recoveryAction.
	recoveryActions = [gpu.NumRecoveryActions]string{
		gpu.RecoveryNone:          "none",
		gpu.RecoveryReset:         "reset",
		gpu.RecoveryReboot:        "reboot",
		gpu.RecoveryDrainP2P:      "drain_p2p",
		gpu.RecoveryDrainAndReset: "drain_and_reset",
		gpu.RecoveryBusReset:      "bus_reset",
		gpu.RecoveryIMEXDomain:    "imex_domain",
	}
	presences = [gpu.NumPresences]metadata.AttributeHwGpuPresence{
		gpu.Visible:   metadata.AttributeHwGpuPresenceVisible,
		gpu.Missing:   metadata.AttributeHwGpuPresenceMissing,
		gpu.Unmanaged: metadata.AttributeHwGpuPresenceUnmanaged,
	}
	sharingNames = [gpu.NumSharings]string{
		gpu.SharingExclusive:   "exclusive",
		gpu.SharingTimeSlicing: "time_slicing",
		gpu.SharingMPS:         "mps",
		gpu.SharingClaim:       "shared_claim",
		gpu.SharingReplicas:    "replicas",
		gpu.SharingFraction:    "fraction",
	}
	sharings = [gpu.NumSharings]metadata.MetricAttributeOption{
		gpu.SharingExclusive:   metadata.WithHwGpuSharingMetricAttribute("exclusive"),
		gpu.SharingTimeSlicing: metadata.WithHwGpuSharingMetricAttribute("time_slicing"),
		gpu.SharingMPS:         metadata.WithHwGpuSharingMetricAttribute("mps"),
		gpu.SharingClaim:       metadata.WithHwGpuSharingMetricAttribute("shared_claim"),
		gpu.SharingReplicas:    metadata.WithHwGpuSharingMetricAttribute("replicas"),
		gpu.SharingFraction:    metadata.WithHwGpuSharingMetricAttribute("fraction"),
	}
	allocatorNames = [gpu.NumAllocators]string{
		gpu.AllocatorDevicePlugin: "device_plugin",
		gpu.AllocatorDRA:          "dra",
		gpu.AllocatorSlurm:        "slurm",
	}
	allocators = [gpu.NumAllocators]metadata.MetricAttributeOption{
		gpu.AllocatorDevicePlugin: metadata.WithHwGpuAllocatorMetricAttribute("device_plugin"),
		gpu.AllocatorDRA:          metadata.WithHwGpuAllocatorMetricAttribute("dra"),
		gpu.AllocatorSlurm:        metadata.WithHwGpuAllocatorMetricAttribute("slurm"),
	}
	// A process of unknown type has neither a name nor an option.
	processTypeNames = [gpu.NumProcessTypes]string{
		gpu.ProcessCompute:         "compute",
		gpu.ProcessGraphics:        "graphics",
		gpu.ProcessComputeGraphics: "compute_graphics",
		gpu.ProcessMPS:             "mps",
	}
	processTypes = [gpu.NumProcessTypes]metadata.MetricAttributeOption{
		gpu.ProcessCompute:         metadata.WithProcessGpuTypeMetricAttribute("compute"),
		gpu.ProcessGraphics:        metadata.WithProcessGpuTypeMetricAttribute("graphics"),
		gpu.ProcessComputeGraphics: metadata.WithProcessGpuTypeMetricAttribute("compute_graphics"),
		gpu.ProcessMPS:             metadata.WithProcessGpuTypeMetricAttribute("mps"),
	}
)

// FailureName returns the value of error.type for the reason of a failure.
func FailureName(r gpu.FailureReason) string { return failureReasons[r] }

// StateName returns the value of hw.state for a state.
func StateName(s gpu.State) string { return states[s].String() }
