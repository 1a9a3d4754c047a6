// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

// function is something the driver is asked: one function of the library, in whichever of its versions there is, and with
// one of its arguments where a device may support some of them and not others.
type function uint8

const (
	fnInit function = iota
	fnShutdown
	fnDriverVersion
	fnDeviceCount
	fnHandleByIndex
	fnUUID
	fnName
	fnSerial
	fnVBIOS
	fnPCIInfo
	fnMinor
	fnComputeCapability
	fnUtilization
	fnSamplesGeneral
	fnSamplesMemory
	fnSamplesEncoder
	fnSamplesDecoder
	fnSamplesJPEG
	fnSamplesOFA
	fnEncoder
	fnDecoder
	fnJPEG
	fnOFA
	fnProcessUtilization
	fnMemory
	fnMemoryV2
	fnProtectedMemory
	fnTemperature
	fnThresholdShutdown
	fnThresholdSlowdown
	fnThresholdGPUMax
	fnThresholdMemoryMax
	fnMargin
	fnFanCount
	fnFanSpeed
	fnFanSpeedV2
	fnPower
	fnPowerLimit
	fnEnergy
	fnClockGraphics
	fnClockSM
	fnClockMemory
	fnClockVideo
	fnMaxClockGraphics
	fnMaxClockSM
	fnMaxClockMemory
	fnMaxClockVideo
	fnPerformanceState
	fnReasons
	fnReasonsSupported
	fnOldReasons
	fnOldReasonsSupported
	fnPCIeThroughput
	fnPCIeReplay
	fnPCIeGeneration
	fnPCIeWidth
	fnPCIeMaxGeneration
	fnPCIeMaxWidth
	fnComputeProcesses
	fnGraphicsProcesses
	fnMPSProcesses
	fnECCCorrected
	fnECCUncorrected
	fnECCLifetimeCorrected
	fnECCLifetimeUncorrected
	fnECCInstance
	fnRemappedRows
	fnFields
	fnMIGMode
	fnMIGMax
	fnMIGHandle
	fnGPUInstance
	fnComputeInstance
	fnGPMSupport
	fnGPMAlloc
	fnGPMFree
	fnGPMSample
	fnGPMMetrics
	fnEventSetCreate
	fnEventSetFree
	fnEventSetWait
	fnRegisterEvents
	fnSupportedEvents
	numFunctions
)

// symbols are the names under which the library may export a function, of which any will do: the binding calls the newest
// there is. The first word is what is read, for messages.
var symbols = [numFunctions][]string{
	fnInit:                {"initialise NVML", "nvmlInit_v2", "nvmlInit"},
	fnShutdown:            {"shut NVML down", "nvmlShutdown"},
	fnDriverVersion:       {"driver version", "nvmlSystemGetDriverVersion"},
	fnDeviceCount:         {"number of GPUs", "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"},
	fnHandleByIndex:       {"handle", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"},
	fnUUID:                {"UUID", "nvmlDeviceGetUUID"},
	fnName:                {"model", "nvmlDeviceGetName"},
	fnSerial:              {"serial number", "nvmlDeviceGetSerial"},
	fnVBIOS:               {"VBIOS version", "nvmlDeviceGetVbiosVersion"},
	fnPCIInfo:             {"PCI address", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"},
	fnMinor:               {"minor number", "nvmlDeviceGetMinorNumber"},
	fnComputeCapability:   {"compute capability", "nvmlDeviceGetCudaComputeCapability"},
	fnUtilization:         {"utilization", "nvmlDeviceGetUtilizationRates"},
	fnSamplesGeneral:      {"utilization samples", "nvmlDeviceGetSamples"},
	fnSamplesMemory:       {"memory controller samples", "nvmlDeviceGetSamples"},
	fnSamplesEncoder:      {"encoder samples", "nvmlDeviceGetSamples"},
	fnSamplesDecoder:      {"decoder samples", "nvmlDeviceGetSamples"},
	fnSamplesJPEG:         {"JPEG engine samples", "nvmlDeviceGetSamples"},
	fnSamplesOFA:          {"optical flow samples", "nvmlDeviceGetSamples"},
	fnEncoder:             {"encoder utilization", "nvmlDeviceGetEncoderUtilization"},
	fnDecoder:             {"decoder utilization", "nvmlDeviceGetDecoderUtilization"},
	fnJPEG:                {"JPEG engine utilization", "nvmlDeviceGetJpgUtilization"},
	fnOFA:                 {"optical flow utilization", "nvmlDeviceGetOfaUtilization"},
	fnProcessUtilization:  {"utilization by process", "nvmlDeviceGetProcessUtilization"},
	fnMemory:              {"memory", "nvmlDeviceGetMemoryInfo"},
	fnMemoryV2:            {"memory", "nvmlDeviceGetMemoryInfo_v2"},
	fnProtectedMemory:     {"protected memory", "nvmlDeviceGetConfComputeProtectedMemoryUsage"},
	fnTemperature:         {"temperature", "nvmlDeviceGetTemperature"},
	fnThresholdShutdown:   {"temperature limits", "nvmlDeviceGetTemperatureThreshold"},
	fnThresholdSlowdown:   {"temperature limits", "nvmlDeviceGetTemperatureThreshold"},
	fnThresholdGPUMax:     {"temperature limits", "nvmlDeviceGetTemperatureThreshold"},
	fnThresholdMemoryMax:  {"temperature limits", "nvmlDeviceGetTemperatureThreshold"},
	fnMargin:              {"temperature margin", "nvmlDeviceGetMarginTemperature"},
	fnFanCount:            {"number of fans", "nvmlDeviceGetNumFans"},
	fnFanSpeed:            {"fan speed", "nvmlDeviceGetFanSpeed"},
	fnFanSpeedV2:          {"fan speed", "nvmlDeviceGetFanSpeed_v2"},
	fnPower:               {"power", "nvmlDeviceGetPowerUsage"},
	fnPowerLimit:          {"power limit", "nvmlDeviceGetEnforcedPowerLimit"},
	fnEnergy:              {"energy", "nvmlDeviceGetTotalEnergyConsumption"},
	fnClockGraphics:       {"clocks", "nvmlDeviceGetClockInfo"},
	fnClockSM:             {"clocks", "nvmlDeviceGetClockInfo"},
	fnClockMemory:         {"clocks", "nvmlDeviceGetClockInfo"},
	fnClockVideo:          {"clocks", "nvmlDeviceGetClockInfo"},
	fnMaxClockGraphics:    {"clock limits", "nvmlDeviceGetMaxClockInfo"},
	fnMaxClockSM:          {"clock limits", "nvmlDeviceGetMaxClockInfo"},
	fnMaxClockMemory:      {"clock limits", "nvmlDeviceGetMaxClockInfo"},
	fnMaxClockVideo:       {"clock limits", "nvmlDeviceGetMaxClockInfo"},
	fnPerformanceState:    {"performance state", "nvmlDeviceGetPerformanceState"},
	fnReasons:             {"throttle reasons", "nvmlDeviceGetCurrentClocksEventReasons"},
	fnReasonsSupported:    {"throttle reasons", "nvmlDeviceGetSupportedClocksEventReasons"},
	fnOldReasons:          {"throttle reasons", "nvmlDeviceGetCurrentClocksThrottleReasons"},
	fnOldReasonsSupported: {"throttle reasons", "nvmlDeviceGetSupportedClocksThrottleReasons"},
	fnPCIeThroughput:      {"PCIe throughput", "nvmlDeviceGetPcieThroughput"},
	fnPCIeReplay:          {"PCIe replays", "nvmlDeviceGetPcieReplayCounter"},
	fnPCIeGeneration:      {"PCIe generation", "nvmlDeviceGetCurrPcieLinkGeneration"},
	fnPCIeWidth:           {"PCIe width", "nvmlDeviceGetCurrPcieLinkWidth"},
	fnPCIeMaxGeneration:   {"PCIe generation", "nvmlDeviceGetMaxPcieLinkGeneration"},
	fnPCIeMaxWidth:        {"PCIe width", "nvmlDeviceGetMaxPcieLinkWidth"},
	fnComputeProcesses: {
		"compute processes", "nvmlDeviceGetComputeRunningProcesses_v3",
		"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses",
	},
	fnGraphicsProcesses: {
		"graphics processes", "nvmlDeviceGetGraphicsRunningProcesses_v3",
		"nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses",
	},
	fnMPSProcesses: {
		"MPS processes", "nvmlDeviceGetMPSComputeRunningProcesses_v3",
		"nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses",
	},
	fnECCCorrected:           {"ECC errors", "nvmlDeviceGetTotalEccErrors"},
	fnECCUncorrected:         {"ECC errors", "nvmlDeviceGetTotalEccErrors"},
	fnECCLifetimeCorrected:   {"ECC errors", "nvmlDeviceGetTotalEccErrors"},
	fnECCLifetimeUncorrected: {"ECC errors", "nvmlDeviceGetTotalEccErrors"},
	fnECCInstance:            {"ECC errors", "nvmlDeviceGetMemoryErrorCounter"},
	fnRemappedRows:           {"remapped rows", "nvmlDeviceGetRemappedRows"},
	fnFields:                 {"fields", "nvmlDeviceGetFieldValues"},
	fnMIGMode:                {"MIG mode", "nvmlDeviceGetMigMode"},
	fnMIGMax:                 {"number of MIG instances", "nvmlDeviceGetMaxMigDeviceCount"},
	fnMIGHandle:              {"MIG instances", "nvmlDeviceGetMigDeviceHandleByIndex"},
	fnGPUInstance:            {"GPU instance", "nvmlDeviceGetGpuInstanceId"},
	fnComputeInstance:        {"compute instance", "nvmlDeviceGetComputeInstanceId"},
	fnGPMSupport:             {"GPM", "nvmlGpmQueryDeviceSupport"},
	fnGPMAlloc:               {"GPM", "nvmlGpmSampleAlloc"},
	fnGPMFree:                {"GPM", "nvmlGpmSampleFree"},
	fnGPMSample:              {"GPM", "nvmlGpmSampleGet"},
	fnGPMMetrics:             {"GPM", "nvmlGpmMetricsGet"},
	fnEventSetCreate:         {"events", "nvmlEventSetCreate"},
	fnEventSetFree:           {"events", "nvmlEventSetFree"},
	fnEventSetWait:           {"events", "nvmlEventSetWait_v2", "nvmlEventSetWait"},
	fnRegisterEvents:         {"events", "nvmlDeviceRegisterEvents"},
	fnSupportedEvents:        {"events", "nvmlDeviceGetSupportedEventTypes"},
}

// essential functions are those without which a library is not taken for NVML.
var essential = [...]function{fnInit, fnShutdown, fnDeviceCount, fnHandleByIndex, fnUUID}

func (f function) what() string { return symbols[f][0] }

// symbol is the function's name without its version, for messages.
func (f function) symbol() string { return symbols[f][len(symbols[f])-1] }

// available tells which functions a library has, by what looks a symbol up in it.
func available(lookup func(symbol string) error) (has [numFunctions]bool) {
	for f := range has {
		for _, symbol := range symbols[f][1:] {
			if lookup(symbol) == nil {
				has[f] = true
				break
			}
		}
	}
	return has
}
