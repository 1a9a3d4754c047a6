// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"testing"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
)

// Each field is asked for by the number that nvml.h gives the quantity.
func TestFieldNumbers(t *testing.T) {
	for f, want := range [numFields][]fieldID{
		fieldEnergy:                       {{gonvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION, 0}, {gonvml.FI_DEV_ENERGY, 0}},
		fieldPowerAverage:                 {{gonvml.FI_DEV_POWER_AVERAGE, 0}},
		fieldPowerInstant:                 {{gonvml.FI_DEV_POWER_INSTANT, 0}},
		fieldPowerModule:                  {{gonvml.FI_DEV_POWER_AVERAGE, 1}, {gonvml.FI_DEV_POWER_INSTANT, 1}},
		fieldPowerLimit:                   {{gonvml.FI_DEV_POWER_CURRENT_LIMIT, 0}},
		fieldPowerMaxLimit:                {{gonvml.FI_DEV_POWER_MAX_LIMIT, 0}},
		fieldPowerMinLimit:                {{gonvml.FI_DEV_POWER_MIN_LIMIT, 0}},
		fieldPowerDefaultLimit:            {{gonvml.FI_DEV_POWER_DEFAULT_LIMIT, 0}},
		fieldPowerMemory:                  {{gonvml.FI_DEV_POWER_AVERAGE, uint32(gonvml.POWER_SCOPE_MEMORY)}, {gonvml.FI_DEV_POWER_INSTANT, uint32(gonvml.POWER_SCOPE_MEMORY)}},
		fieldShutdownTLimit:               {{gonvml.FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT, 0}},
		fieldPCIeRollovers:                {{gonvml.FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER, 0}},
		fieldPCIeRecoveries:               {{gonvml.FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER, 0}},
		fieldPCIeNAKsReceived:             {{gonvml.FI_DEV_PCIE_COUNT_NAKS_RECEIVED, 0}},
		fieldPCIeNAKsTransmitted:          {{gonvml.FI_DEV_PCIE_COUNT_NAKS_SENT, 0}},
		fieldThrottleBoardLimit:           {{gonvml.FI_DEV_PERF_POLICY_BOARD_LIMIT, 0}},
		fieldThrottleLowUtilization:       {{gonvml.FI_DEV_PERF_POLICY_LOW_UTILIZATION, 0}},
		fieldThrottleReliability:          {{gonvml.FI_DEV_PERF_POLICY_RELIABILITY, 0}},
		fieldECCPending:                   {{gonvml.FI_DEV_ECC_PENDING, 0}},
		fieldMemoryTemperature:            {{gonvml.FI_DEV_MEMORY_TEMP, 0}},
		fieldPCIeTransmitted:              {{gonvml.FI_DEV_PCIE_COUNT_TX_BYTES, 0}},
		fieldPCIeReceived:                 {{gonvml.FI_DEV_PCIE_COUNT_RX_BYTES, 0}},
		fieldPCIeReplay:                   {{gonvml.FI_DEV_PCIE_REPLAY_COUNTER, 0}},
		fieldThrottlePower:                {{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP, 0}},
		fieldThrottleSyncBoost:            {{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST, 0}},
		fieldThrottleSWThermal:            {{gonvml.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, 0}, {gonvml.FI_DEV_PERF_POLICY_THERMAL, 0}},
		fieldThrottleHWThermal:            {{gonvml.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, 0}},
		fieldThrottlePowerBrake:           {{gonvml.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, 0}},
		fieldECCMode:                      {{gonvml.FI_DEV_ECC_CURRENT, 0}},
		fieldECCCorrected:                 {{gonvml.FI_DEV_ECC_SBE_VOL_TOTAL, 0}},
		fieldECCUncorrected:               {{gonvml.FI_DEV_ECC_DBE_VOL_TOTAL, 0}},
		fieldECCLifetimeCorrected:         {{gonvml.FI_DEV_ECC_SBE_AGG_TOTAL, 0}},
		fieldECCLifetimeUncorrected:       {{gonvml.FI_DEV_ECC_DBE_AGG_TOTAL, 0}},
		fieldDRAMCorrected:                {{gonvml.FI_DEV_ECC_SBE_VOL_DEV, 0}},
		fieldDRAMUncorrected:              {{gonvml.FI_DEV_ECC_DBE_VOL_DEV, 0}},
		fieldLifetimeL1Corrected:          {{gonvml.FI_DEV_ECC_SBE_AGG_L1, 0}},
		fieldLifetimeL1Uncorrected:        {{gonvml.FI_DEV_ECC_DBE_AGG_L1, 0}},
		fieldLifetimeL2Corrected:          {{gonvml.FI_DEV_ECC_SBE_AGG_L2, 0}},
		fieldLifetimeL2Uncorrected:        {{gonvml.FI_DEV_ECC_DBE_AGG_L2, 0}},
		fieldLifetimeDRAMCorrected:        {{gonvml.FI_DEV_ECC_SBE_AGG_DEV, 0}},
		fieldLifetimeDRAMUncorrected:      {{gonvml.FI_DEV_ECC_DBE_AGG_DEV, 0}},
		fieldLifetimeRegistersCorrected:   {{gonvml.FI_DEV_ECC_SBE_AGG_REG, 0}},
		fieldLifetimeRegistersUncorrected: {{gonvml.FI_DEV_ECC_DBE_AGG_REG, 0}},
		fieldLifetimeTextureCorrected:     {{gonvml.FI_DEV_ECC_SBE_AGG_TEX, 0}},
		fieldLifetimeTextureUncorrected:   {{gonvml.FI_DEV_ECC_DBE_AGG_TEX, 0}},
		fieldLifetimeCBUUncorrected:       {{gonvml.FI_DEV_ECC_DBE_AGG_CBU, 0}},
		fieldRemappedCorrected:            {{gonvml.FI_DEV_REMAPPED_COR, 0}},
		fieldRemappedUncorrected:          {{gonvml.FI_DEV_REMAPPED_UNC, 0}},
		fieldRemappedPending:              {{gonvml.FI_DEV_REMAPPED_PENDING, 0}},
		fieldRemappedFailure:              {{gonvml.FI_DEV_REMAPPED_FAILURE, 0}},
		fieldRetiredSBE:                   {{gonvml.FI_DEV_RETIRED_SBE, 0}},
		fieldRetiredDBE:                   {{gonvml.FI_DEV_RETIRED_DBE, 0}},
		fieldRetiredPending:               {{gonvml.FI_DEV_RETIRED_PENDING, 0}},
		fieldRecovery:                     {{gonvml.FI_DEV_GET_GPU_RECOVERY_ACTION, 0}},
		fieldNVLinkTransmitted:            {{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, allLinks}},
		fieldNVLinkReceived:               {{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, allLinks}},
		fieldNVLinkCRCFlit:                {{gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, 0}},
		fieldNVLinkCRCData:                {{gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, 0}},
		fieldNVLinkReplay:                 {{gonvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, 0}},
		fieldNVLinkRecovery:               {{gonvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, 0}},
		fieldNVLinkECC:                    {{gonvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL, 0}},
		fieldLinkCount:                    {{gonvml.FI_DEV_NVLINK_LINK_COUNT, 0}},
	} {
		assert.Equal(t, want, fieldSpecs[f].candidates, "field %d, %s", f, fieldSpecs[f].what)
	}
}

// A link's quantities are asked for by its scope, or on older drivers by a number of its own: 0 to 5 in one row, 6 to 11 in
// another, and further links have none.
func TestLinkFieldNumbers(t *testing.T) {
	for f, want := range [numLinkFields]map[int][]fieldID{
		linkTransmittedKiB: {17: {{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, 17}}},
		linkReceivedKiB:    {17: {{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, 17}}},
		linkTransmitted:    {17: {{gonvml.FI_DEV_NVLINK_COUNT_XMIT_BYTES, 17}}},
		linkReceived:       {17: {{gonvml.FI_DEV_NVLINK_COUNT_RCV_BYTES, 17}}},
		linkCRC:            {17: {{gonvml.FI_DEV_NVLINK_ERROR_DL_CRC, 17}}},
		linkCRCFlit: {
			0: {{gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0, 0}}, 5: {{gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L5, 5}},
			6: {{gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6, 6}}, 11: {{gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L11, 11}}, 12: nil,
		},
		linkCRCData: {
			0: {{gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L0, 0}}, 5: {{gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L5, 5}},
			6: {{gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L6, 6}}, 11: {{gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L11, 11}}, 12: nil,
		},
		linkReplay: {
			5:  {{gonvml.FI_DEV_NVLINK_ERROR_DL_REPLAY, 5}, {gonvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L5, 5}},
			11: {{gonvml.FI_DEV_NVLINK_ERROR_DL_REPLAY, 11}, {gonvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L11, 11}},
			12: {{gonvml.FI_DEV_NVLINK_ERROR_DL_REPLAY, 12}},
		},
		linkRecovery: {
			5: {
				{gonvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY, 5},
				{gonvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, 5},
				{gonvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L5, 5},
			},
			11: {
				{gonvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY, 11},
				{gonvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, 11},
				{gonvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L11, 11},
			},
		},
		linkECC: {
			0: {{gonvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L0, 0}}, 11: {{gonvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L11, 11}}, 12: nil,
		},
		linkMalformedPackets:     {17: {{gonvml.FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS, 17}}},
		linkBufferOverruns:       {17: {{gonvml.FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS, 17}}},
		linkReceiveErrors:        {17: {{gonvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS, 17}}},
		linkReceiveRemoteErrors:  {17: {{gonvml.FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS, 17}}},
		linkReceiveGeneralErrors: {17: {{gonvml.FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS, 17}}},
		linkIntegrityErrors:      {17: {{gonvml.FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS, 17}}},
		linkTransmitDiscards:     {17: {{gonvml.FI_DEV_NVLINK_COUNT_XMIT_DISCARDS, 17}}},
		linkRecoveriesFailed:     {17: {{gonvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS, 17}}},
		linkEffectiveErrors:      {17: {{gonvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS, 17}}},
		linkSymbolErrors:         {17: {{gonvml.FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS, 17}}},
		linkEffectiveBER:         {17: {{gonvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_BER, 17}}},
		linkSymbolBER:            {17: {{gonvml.FI_DEV_NVLINK_COUNT_SYMBOL_BER, 17}}},
		linkState:                {17: {{gonvml.FI_DEV_NVLINK_GET_STATE, 17}}},
		linkSpeed: {
			5:  {{gonvml.FI_DEV_NVLINK_GET_SPEED, 5}, {gonvml.FI_DEV_NVLINK_SPEED_MBPS_L5, 5}},
			11: {{gonvml.FI_DEV_NVLINK_GET_SPEED, 11}, {gonvml.FI_DEV_NVLINK_SPEED_MBPS_L11, 11}},
			12: {{gonvml.FI_DEV_NVLINK_GET_SPEED, 12}},
		},
		linkFEC:      {17: {{gonvml.FI_DEV_NVLINK_COUNT_FEC_HISTORY_0, 17}}},
		linkFEC + 15: {17: {{gonvml.FI_DEV_NVLINK_COUNT_FEC_HISTORY_15, 17}}},
	} {
		for link, ids := range want {
			assert.Equal(t, ids, linkSpecs[f].candidates(link), "%s of link %d", linkSpecs[f].what, link)
		}
	}
}

func TestFieldsAreNamed(t *testing.T) {
	for f, spec := range fieldSpecs {
		assert.NotEmpty(t, spec.what, "field %d", f)
		assert.NotEmpty(t, spec.candidates, "field %d", f)
		assert.NotZero(t, spec.group, "field %d", f)
	}
}
