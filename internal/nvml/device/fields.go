// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import "github.com/otelgpu/gpureceiver/internal/gpu"

// field is a quantity that is read with all others in one call of nvmlDeviceGetFieldValues.
type field int

const (
	fieldEnergy field = iota
	fieldPowerAverage
	fieldPowerInstant
	fieldPowerModule
	fieldPowerLimit
	fieldPowerMaxLimit
	fieldPowerMinLimit
	fieldPowerDefaultLimit
	fieldPowerMemory
	fieldMemoryTemperature
	fieldShutdownTLimit
	fieldPCIeTransmitted
	fieldPCIeReceived
	fieldPCIeReplay
	fieldPCIeRollovers
	fieldPCIeRecoveries
	fieldPCIeNAKsReceived
	fieldPCIeNAKsTransmitted
	fieldThrottlePower
	fieldThrottleSyncBoost
	fieldThrottleSWThermal
	fieldThrottleHWThermal
	fieldThrottlePowerBrake
	fieldThrottleBoardLimit
	fieldThrottleLowUtilization
	fieldThrottleReliability
	fieldECCMode
	fieldECCPending
	fieldECCCorrected
	fieldECCUncorrected
	fieldECCLifetimeCorrected
	fieldECCLifetimeUncorrected
	fieldDRAMCorrected
	fieldDRAMUncorrected
	fieldLifetimeL1Corrected
	fieldLifetimeL1Uncorrected
	fieldLifetimeL2Corrected
	fieldLifetimeL2Uncorrected
	fieldLifetimeDRAMCorrected
	fieldLifetimeDRAMUncorrected
	fieldLifetimeRegistersCorrected
	fieldLifetimeRegistersUncorrected
	fieldLifetimeTextureCorrected
	fieldLifetimeTextureUncorrected
	fieldLifetimeCBUUncorrected
	fieldRemappedCorrected
	fieldRemappedUncorrected
	fieldRemappedPending
	fieldRemappedFailure
	fieldRetiredSBE
	fieldRetiredDBE
	fieldRetiredPending
	fieldRecovery
	fieldNVLinkTransmitted
	fieldNVLinkReceived
	fieldNVLinkCRCFlit
	fieldNVLinkCRCData
	fieldNVLinkReplay
	fieldNVLinkRecovery
	fieldNVLinkECC
	fieldLinkCount
	numFields
)

// allLinks is the scope of the sum of an NVLink counter over all links.
const allLinks = 0xFFFFFFFF

// fieldID is a field's number in nvml.h (NVML_FI_*) and its scope.
type fieldID struct{ id, scope uint32 }

// fieldSpec is what a quantity is called, which group needs it, and where to find it: the first of the candidates that the device
// supports.
type fieldSpec struct {
	what       string
	group      gpu.Group
	candidates []fieldID
	// unless is a field that makes this one useless where it is supported; the field itself for none.
	unless field
}

// eccGroups are the groups that count nothing where ECC is off.
const eccGroups = gpu.GroupECC | gpu.GroupECCLifetime | gpu.GroupECCMemory | gpu.GroupECCLocations

// linkGroups are the groups that need the number of links.
const linkGroups = gpu.GroupInterconnect | gpu.GroupInterconnectErrors | gpu.GroupInterconnectLinks |
	gpu.GroupInterconnectState | gpu.GroupInterconnectSpeed | gpu.GroupInterconnectBitErrors

var fieldSpecs = [numFields]fieldSpec{
	fieldEnergy: {"energy", gpu.GroupEnergy, []fieldID{{83, 0}, {191, 0}}, fieldEnergy},
	// Scope 0 is the GPU, 1 the module (CPU and memory with it). Ampere and later, except GA100, average over a second.
	fieldPowerAverage:      {"power", gpu.GroupPower, []fieldID{{185, 0}}, fieldPowerAverage},
	fieldPowerInstant:      {"instantaneous power", gpu.GroupPowerDetail, []fieldID{{186, 0}}, fieldPowerInstant},
	fieldPowerModule:       {"module power", gpu.GroupPowerDetail, []fieldID{{185, 1}, {186, 1}}, fieldPowerModule},
	fieldPowerLimit:        {"power limit", gpu.GroupPowerLimit, []fieldID{{190, 0}}, fieldPowerLimit},
	fieldPowerMaxLimit:     {"highest power limit", gpu.GroupPowerLimit, []fieldID{{188, 0}}, fieldPowerMaxLimit},
	fieldPowerMinLimit:     {"lowest power limit", gpu.GroupPowerLimit, []fieldID{{187, 0}}, fieldPowerMinLimit},
	fieldPowerDefaultLimit: {"default power limit", gpu.GroupPowerLimit, []fieldID{{189, 0}}, fieldPowerDefaultLimit},
	// Scope 2 is the GPU's memory.
	fieldPowerMemory:       {"memory power", gpu.GroupPowerDetail, []fieldID{{185, 2}, {186, 2}}, fieldPowerMemory},
	fieldMemoryTemperature: {"memory temperature", gpu.GroupTemperature, []fieldID{{82, 0}}, fieldMemoryTemperature},
	// The point on the scale of the margin at which the GPU shuts down.
	fieldShutdownTLimit:      {"temperature margin", gpu.GroupTemperatureLimits, []fieldID{{193, 0}}, fieldShutdownTLimit},
	fieldPCIeTransmitted:     {"PCIe bytes", gpu.GroupPCIeIO, []fieldID{{197, 0}}, fieldPCIeTransmitted},
	fieldPCIeReceived:        {"PCIe bytes", gpu.GroupPCIeIO, []fieldID{{198, 0}}, fieldPCIeReceived},
	fieldPCIeReplay:          {"PCIe replays", gpu.GroupPCIeReplay, []fieldID{{94, 0}}, fieldPCIeReplay},
	fieldPCIeRollovers:       {"PCIe replay rollovers", gpu.GroupPCIeDetail, []fieldID{{95, 0}}, fieldPCIeRollovers},
	fieldPCIeRecoveries:      {"PCIe recoveries", gpu.GroupPCIeDetail, []fieldID{{169, 0}}, fieldPCIeRecoveries},
	fieldPCIeNAKsReceived:    {"PCIe NAKs", gpu.GroupPCIeDetail, []fieldID{{174, 0}}, fieldPCIeNAKsReceived},
	fieldPCIeNAKsTransmitted: {"PCIe NAKs", gpu.GroupPCIeDetail, []fieldID{{177, 0}}, fieldPCIeNAKsTransmitted},

	// Nanoseconds. Drivers without 269 count the same in the thermal policy (75).
	fieldThrottlePower:          {"throttle time", gpu.GroupThrottleTime, []fieldID{{74, 0}}, fieldThrottlePower},
	fieldThrottleSyncBoost:      {"throttle time", gpu.GroupThrottleTime, []fieldID{{76, 0}}, fieldThrottleSyncBoost},
	fieldThrottleSWThermal:      {"throttle time", gpu.GroupThrottleTime, []fieldID{{269, 0}, {75, 0}}, fieldThrottleSWThermal},
	fieldThrottleHWThermal:      {"throttle time", gpu.GroupThrottleTime, []fieldID{{270, 0}}, fieldThrottleHWThermal},
	fieldThrottlePowerBrake:     {"throttle time", gpu.GroupThrottleTime, []fieldID{{271, 0}}, fieldThrottlePowerBrake},
	fieldThrottleBoardLimit:     {"throttle time", gpu.GroupThrottleTime, []fieldID{{77, 0}}, fieldThrottleBoardLimit},
	fieldThrottleLowUtilization: {"throttle time", gpu.GroupThrottleTime, []fieldID{{78, 0}}, fieldThrottleLowUtilization},
	fieldThrottleReliability:    {"throttle time", gpu.GroupThrottleTime, []fieldID{{79, 0}}, fieldThrottleReliability},

	// Whether ECC is on. Where it is off, the counts mean nothing.
	fieldECCMode:                {"ECC mode", eccGroups | gpu.GroupModes | gpu.GroupPendingModes, []fieldID{{1, 0}}, fieldECCMode},
	fieldECCPending:             {"ECC mode", gpu.GroupPendingModes, []fieldID{{2, 0}}, fieldECCPending},
	fieldECCCorrected:           {"ECC errors", gpu.GroupECC, []fieldID{{3, 0}}, fieldECCCorrected},
	fieldECCUncorrected:         {"ECC errors", gpu.GroupECC, []fieldID{{4, 0}}, fieldECCUncorrected},
	fieldECCLifetimeCorrected:   {"lifetime ECC errors", gpu.GroupECCLifetime, []fieldID{{5, 0}}, fieldECCLifetimeCorrected},
	fieldECCLifetimeUncorrected: {"lifetime ECC errors", gpu.GroupECCLifetime, []fieldID{{6, 0}}, fieldECCLifetimeUncorrected},

	// DRAM is what these fields call device memory. Other locations are counted before Ampere; nvmlDeviceGetSramEccErrorStatus has them since.
	fieldDRAMCorrected:                {"DRAM errors", gpu.GroupECCMemory, []fieldID{{11, 0}}, fieldDRAMCorrected},
	fieldDRAMUncorrected:              {"DRAM errors", gpu.GroupECCMemory, []fieldID{{12, 0}}, fieldDRAMUncorrected},
	fieldLifetimeL1Corrected:          {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{18, 0}}, fieldLifetimeL1Corrected},
	fieldLifetimeL1Uncorrected:        {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{19, 0}}, fieldLifetimeL1Uncorrected},
	fieldLifetimeL2Corrected:          {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{20, 0}}, fieldLifetimeL2Corrected},
	fieldLifetimeL2Uncorrected:        {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{21, 0}}, fieldLifetimeL2Uncorrected},
	fieldLifetimeDRAMCorrected:        {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{22, 0}}, fieldLifetimeDRAMCorrected},
	fieldLifetimeDRAMUncorrected:      {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{23, 0}}, fieldLifetimeDRAMUncorrected},
	fieldLifetimeRegistersCorrected:   {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{24, 0}}, fieldLifetimeRegistersCorrected},
	fieldLifetimeRegistersUncorrected: {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{25, 0}}, fieldLifetimeRegistersUncorrected},
	fieldLifetimeTextureCorrected:     {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{26, 0}}, fieldLifetimeTextureCorrected},
	fieldLifetimeTextureUncorrected:   {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{27, 0}}, fieldLifetimeTextureUncorrected},
	fieldLifetimeCBUUncorrected:       {"ECC errors by location", gpu.GroupECCLocations, []fieldID{{28, 0}}, fieldLifetimeCBUUncorrected},

	// Rows are remapped on Ampere and later, pages retired before.
	fieldRemappedCorrected:   {"remapped rows", gpu.GroupRemappedRows, []fieldID{{142, 0}}, fieldRemappedCorrected},
	fieldRemappedUncorrected: {"remapped rows", gpu.GroupRemappedRows, []fieldID{{143, 0}}, fieldRemappedUncorrected},
	fieldRemappedPending:     {"remapped rows", gpu.GroupRemappedRows, []fieldID{{144, 0}}, fieldRemappedPending},
	fieldRemappedFailure:     {"remapped rows", gpu.GroupRemappedRows, []fieldID{{145, 0}}, fieldRemappedFailure},
	fieldRetiredSBE:          {"retired pages", gpu.GroupRemappedRows, []fieldID{{29, 0}}, fieldRemappedCorrected},
	fieldRetiredDBE:          {"retired pages", gpu.GroupRemappedRows, []fieldID{{30, 0}}, fieldRemappedCorrected},
	fieldRetiredPending:      {"retired pages", gpu.GroupRemappedRows, []fieldID{{31, 0}}, fieldRemappedCorrected},

	fieldRecovery: {"recovery action", gpu.GroupRecovery, []fieldID{{230, 0}}, fieldRecovery},

	// KiB of payload over all links. Where there is none, the links are added up.
	fieldNVLinkTransmitted: {"NVLink bytes", gpu.GroupInterconnect, []fieldID{{138, allLinks}}, fieldNVLinkTransmitted},
	fieldNVLinkReceived:    {"NVLink bytes", gpu.GroupInterconnect, []fieldID{{139, allLinks}}, fieldNVLinkReceived},
	fieldNVLinkCRCFlit:     {"NVLink errors", gpu.GroupInterconnectErrors, []fieldID{{38, 0}}, fieldNVLinkCRCFlit},
	fieldNVLinkCRCData:     {"NVLink errors", gpu.GroupInterconnectErrors, []fieldID{{45, 0}}, fieldNVLinkCRCData},
	fieldNVLinkReplay:      {"NVLink errors", gpu.GroupInterconnectErrors, []fieldID{{52, 0}}, fieldNVLinkReplay},
	fieldNVLinkRecovery:    {"NVLink errors", gpu.GroupInterconnectErrors, []fieldID{{59, 0}}, fieldNVLinkRecovery},
	fieldNVLinkECC:         {"NVLink errors", gpu.GroupInterconnectErrors, []fieldID{{160, 0}}, fieldNVLinkECC},
	fieldLinkCount:         {"NVLink links", linkGroups, []fieldID{{91, 0}}, fieldLinkCount},
}

// candidatesOf575 are the fields that have other numbers with drivers of branch 575. The usual numbers are settings of power smoothing
// there (NVIDIA's change log of NVML, v575 to v580). With other drivers the first of these numbers is ambiguous: see there.
var candidatesOf575 = map[field][]fieldID{
	fieldThrottleSWThermal:  {{251, 0}, {75, 0}},
	fieldThrottleHWThermal:  {{252, 0}},
	fieldThrottlePowerBrake: {{253, 0}},
}
