// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"testing"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
)

// A link's quantities are read by its scope, or on older drivers by a number of its own: 0 to 5 in one row, 6 to 11 in another, and further
// links have no number.
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
			assert.Equal(t, ids, linkSpecs[f].candidates(link), "%s of link %d", linkSpecs[f].name, link)
		}
	}
}

// A row of quantityRows has what a read and its messages need.
func TestQuantityRows(t *testing.T) {
	for i := range quantityRows {
		q := &quantityRows[i]
		assert.NotEmpty(t, q.name, "row %d", i)
		assert.NotZero(t, q.group, "row %d, %s", i, q.name)
		assert.True(t, len(q.fields) > 0 || q.symbol != "", "%s: no field and no function reads it", q.name)
		assert.Equal(t, q.symbol != "", q.call != nil, "%s: a function has a symbol and a call", q.name)
		assert.True(t, row(i) < numRows || q.set != nil, "%s: no reader names it, and nothing sets it", q.name)
		if q.symbol != "" {
			assert.Regexp(t, `^nvmlDeviceGet\w+$`, q.symbol)
		}
	}
}
