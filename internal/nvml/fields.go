// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "github.com/otelgpu/gpureceiver/internal/gpu"

// field is a quantity that is read with all others in one call of nvmlDeviceGetFieldValues.
type field int

const (
	fieldEnergy field = iota
	fieldPowerAverage
	fieldPowerInstant
	fieldPowerModule
	fieldPowerLimit
	fieldMemoryTemperature
	fieldPCIeTransmitted
	fieldPCIeReceived
	fieldPCIeReplay
	fieldThrottlePower
	fieldThrottleSyncBoost
	fieldThrottleSWThermal
	fieldThrottleHWThermal
	fieldThrottlePowerBrake
	fieldECCMode
	fieldECCCorrected
	fieldECCUncorrected
	fieldECCLifetimeCorrected
	fieldECCLifetimeUncorrected
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

// allLinks is the scope of an NVLink counter that is summed over all links.
const allLinks = 0xFFFFFFFF

// ask is a field's number in nvml.h (NVML_FI_*) and its scope.
type ask struct{ id, scope uint32 }

// fieldSpec says what a quantity is called, which group needs it, and where to find it: the first of the candidates that
// the device supports.
type fieldSpec struct {
	what       string
	group      gpu.Group
	candidates []ask
	// unless names a field that makes this one pointless where it is supported; itself otherwise.
	unless field
}

var fieldSpecs = [numFields]fieldSpec{
	fieldEnergy: {"energy", gpu.GroupEnergy, []ask{{83, 0}, {191, 0}}, fieldEnergy},
	// Scope 0 is the GPU, 1 the module (CPU and memory with it). Averaged over a second on Ampere and later, GA100 excepted.
	fieldPowerAverage:      {"power", gpu.GroupPower, []ask{{185, 0}}, fieldPowerAverage},
	fieldPowerInstant:      {"instantaneous power", gpu.GroupPowerDetail, []ask{{186, 0}}, fieldPowerInstant},
	fieldPowerModule:       {"module power", gpu.GroupPowerDetail, []ask{{185, 1}, {186, 1}}, fieldPowerModule},
	fieldPowerLimit:        {"power limit", gpu.GroupPowerLimit, []ask{{190, 0}}, fieldPowerLimit},
	fieldMemoryTemperature: {"memory temperature", gpu.GroupTemperature, []ask{{82, 0}}, fieldMemoryTemperature},
	fieldPCIeTransmitted:   {"PCIe bytes", gpu.GroupPCIeIO, []ask{{197, 0}}, fieldPCIeTransmitted},
	fieldPCIeReceived:      {"PCIe bytes", gpu.GroupPCIeIO, []ask{{198, 0}}, fieldPCIeReceived},
	fieldPCIeReplay:        {"PCIe replays", gpu.GroupPCIeReplay, []ask{{94, 0}}, fieldPCIeReplay},

	// Nanoseconds. Before 269 the thermal policy (75) counted what it counts.
	fieldThrottlePower:      {"throttle time", gpu.GroupThrottleTime, []ask{{74, 0}}, fieldThrottlePower},
	fieldThrottleSyncBoost:  {"throttle time", gpu.GroupThrottleTime, []ask{{76, 0}}, fieldThrottleSyncBoost},
	fieldThrottleSWThermal:  {"throttle time", gpu.GroupThrottleTime, []ask{{269, 0}, {75, 0}}, fieldThrottleSWThermal},
	fieldThrottleHWThermal:  {"throttle time", gpu.GroupThrottleTime, []ask{{270, 0}}, fieldThrottleHWThermal},
	fieldThrottlePowerBrake: {"throttle time", gpu.GroupThrottleTime, []ask{{271, 0}}, fieldThrottlePowerBrake},

	// Whether ECC is on: the counts of a device where it is off are not counts.
	fieldECCMode:                {"ECC mode", gpu.GroupECC | gpu.GroupECCLifetime, []ask{{1, 0}}, fieldECCMode},
	fieldECCCorrected:           {"ECC errors", gpu.GroupECC, []ask{{3, 0}}, fieldECCCorrected},
	fieldECCUncorrected:         {"ECC errors", gpu.GroupECC, []ask{{4, 0}}, fieldECCUncorrected},
	fieldECCLifetimeCorrected:   {"lifetime ECC errors", gpu.GroupECCLifetime, []ask{{5, 0}}, fieldECCLifetimeCorrected},
	fieldECCLifetimeUncorrected: {"lifetime ECC errors", gpu.GroupECCLifetime, []ask{{6, 0}}, fieldECCLifetimeUncorrected},

	// Rows are remapped on Ampere and later, pages retired before.
	fieldRemappedCorrected:   {"remapped rows", gpu.GroupRemappedRows, []ask{{142, 0}}, fieldRemappedCorrected},
	fieldRemappedUncorrected: {"remapped rows", gpu.GroupRemappedRows, []ask{{143, 0}}, fieldRemappedUncorrected},
	fieldRemappedPending:     {"remapped rows", gpu.GroupRemappedRows, []ask{{144, 0}}, fieldRemappedPending},
	fieldRemappedFailure:     {"remapped rows", gpu.GroupRemappedRows, []ask{{145, 0}}, fieldRemappedFailure},
	fieldRetiredSBE:          {"retired pages", gpu.GroupRemappedRows, []ask{{29, 0}}, fieldRemappedCorrected},
	fieldRetiredDBE:          {"retired pages", gpu.GroupRemappedRows, []ask{{30, 0}}, fieldRemappedCorrected},
	fieldRetiredPending:      {"retired pages", gpu.GroupRemappedRows, []ask{{31, 0}}, fieldRemappedCorrected},

	fieldRecovery: {"recovery action", gpu.GroupRecovery, []ask{{230, 0}}, fieldRecovery},

	// KiB of payload over all links; where it is not to be had, the links are added up.
	fieldNVLinkTransmitted: {"NVLink bytes", gpu.GroupInterconnect, []ask{{138, allLinks}}, fieldNVLinkTransmitted},
	fieldNVLinkReceived:    {"NVLink bytes", gpu.GroupInterconnect, []ask{{139, allLinks}}, fieldNVLinkReceived},
	fieldNVLinkCRCFlit:     {"NVLink errors", gpu.GroupInterconnectErrors, []ask{{38, 0}}, fieldNVLinkCRCFlit},
	fieldNVLinkCRCData:     {"NVLink errors", gpu.GroupInterconnectErrors, []ask{{45, 0}}, fieldNVLinkCRCData},
	fieldNVLinkReplay:      {"NVLink errors", gpu.GroupInterconnectErrors, []ask{{52, 0}}, fieldNVLinkReplay},
	fieldNVLinkRecovery:    {"NVLink errors", gpu.GroupInterconnectErrors, []ask{{59, 0}}, fieldNVLinkRecovery},
	fieldNVLinkECC:         {"NVLink errors", gpu.GroupInterconnectErrors, []ask{{160, 0}}, fieldNVLinkECC},
	fieldLinkCount:         {"NVLink links", linkGroups, []ask{{91, 0}}, fieldLinkCount},
}

// candidatesOf575 are the fields that have other numbers with drivers of branch 575 alone: those of the others are settings of power
// smoothing there (NVIDIA's change log of NVML, v575 to v580).
var candidatesOf575 = map[field][]ask{
	fieldThrottleSWThermal:  {{251, 0}, {75, 0}},
	fieldThrottleHWThermal:  {{252, 0}},
	fieldThrottlePowerBrake: {{253, 0}},
}
