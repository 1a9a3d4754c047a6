// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// linkField is a quantity of one NVLink link.
type linkField int

const (
	linkTransmittedKiB linkField = iota
	linkReceivedKiB
	linkTransmitted // bytes, NVLink 5
	linkReceived
	linkCRC
	linkCRCFlit
	linkCRCData
	linkReplay
	linkRecovery
	linkECC
	linkMalformedPackets // NVLink 5, to the bit error rates
	linkBufferOverruns
	linkReceiveErrors
	linkReceiveRemoteErrors
	linkReceiveGeneralErrors
	linkIntegrityErrors
	linkTransmitDiscards
	linkRecoveriesFailed
	linkEffectiveErrors
	linkSymbolErrors
	linkEffectiveBER
	linkSymbolBER
	linkState
	linkSpeed
	linkFEC       // the first of its bins
	numLinkFields = linkFEC + gpu.NumFECBins
)

// maxLinks bounds how many links a device may report.
const maxLinks = 64

// linkSpec says how to read a quantity of a link: fields whose scope is the link, or on older drivers a field for each link, links 0 to 5
// in one row of numbers and 6 to 11 in another.
type linkSpec struct {
	name      string
	group     gpu.Group // that needs it; 0 if wanted with single links, and if the device has no total
	scoped    []uint32
	rows      [2]uint32
	instead   bool      // of another quantity:
	preferred linkField // useless if this one is supported
	total     row       // useless if this total is supported and single links are not wanted
}

// linkErrorGroups are the groups that need the errors for which NVLink 5 has no totals.
const linkErrorGroups = gpu.GroupInterconnectErrors | gpu.GroupInterconnectLinks

var linkSpecs = newLinkSpecs()

func newLinkSpecs() [numLinkFields]linkSpec {
	specs := [numLinkFields]linkSpec{
		linkTransmittedKiB: {name: "NVLink bytes", scoped: []uint32{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX}, total: rowNVLinkTransmitted},
		linkReceivedKiB:    {name: "NVLink bytes", scoped: []uint32{gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX}, total: rowNVLinkReceived},
		linkTransmitted:    {name: "NVLink bytes", scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_XMIT_BYTES}, instead: true, preferred: linkTransmittedKiB},
		linkReceived:       {name: "NVLink bytes", scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_RCV_BYTES}, instead: true, preferred: linkReceivedKiB},
		linkCRC:            {name: "NVLink errors", scoped: []uint32{gonvml.FI_DEV_NVLINK_ERROR_DL_CRC}, total: rowNVLinkCRCFlit},
		linkCRCFlit:        {name: "NVLink errors", rows: [2]uint32{gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0, gonvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6}, instead: true, preferred: linkCRC},
		linkCRCData:        {name: "NVLink errors", rows: [2]uint32{gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L0, gonvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L6}, instead: true, preferred: linkCRC},
		linkReplay:         {name: "NVLink errors", scoped: []uint32{gonvml.FI_DEV_NVLINK_ERROR_DL_REPLAY}, rows: [2]uint32{gonvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L0, gonvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L6}, total: rowNVLinkReplay},
		linkRecovery:       {name: "NVLink errors", scoped: []uint32{gonvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY, gonvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS}, rows: [2]uint32{gonvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L0, gonvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L6}, total: rowNVLinkRecovery},
		linkECC:            {name: "NVLink errors", rows: [2]uint32{gonvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L0, gonvml.FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L6}, total: rowNVLinkECC},

		linkMalformedPackets:     {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS}},
		linkBufferOverruns:       {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS}},
		linkReceiveErrors:        {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS}},
		linkReceiveRemoteErrors:  {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS}},
		linkReceiveGeneralErrors: {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS}},
		linkIntegrityErrors:      {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS}},
		linkTransmitDiscards:     {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_XMIT_DISCARDS}},
		linkRecoveriesFailed:     {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS}},
		linkEffectiveErrors:      {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS}},
		linkSymbolErrors:         {name: "NVLink errors", group: linkErrorGroups, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS}},
		linkEffectiveBER:         {name: "NVLink bit errors", group: gpu.GroupInterconnectBitErrors, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_BER}},
		linkSymbolBER:            {name: "NVLink bit errors", group: gpu.GroupInterconnectBitErrors, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_SYMBOL_BER}},

		linkState: {name: "NVLink state", group: gpu.GroupInterconnectState, scoped: []uint32{gonvml.FI_DEV_NVLINK_GET_STATE}},
		linkSpeed: {name: "NVLink speed", group: gpu.GroupInterconnectSpeed, scoped: []uint32{gonvml.FI_DEV_NVLINK_GET_SPEED}, rows: [2]uint32{gonvml.FI_DEV_NVLINK_SPEED_MBPS_L0, gonvml.FI_DEV_NVLINK_SPEED_MBPS_L6}},
	}
	for bin := range gpu.NumFECBins {
		specs[int(linkFEC)+bin] = linkSpec{name: "NVLink bit errors", group: gpu.GroupInterconnectBitErrors, scoped: []uint32{gonvml.FI_DEV_NVLINK_COUNT_FEC_HISTORY_0 + uint32(bin)}}
	}
	return specs
}

// candidates are the fields in which a link's quantity may be found, best first.
func (s *linkSpec) candidates(link int) []fieldID {
	var ids []fieldID
	for _, id := range s.scoped {
		ids = append(ids, fieldID{id, uint32(link)})
	}
	if half := link / 6; s.rows[0] != 0 && half < len(s.rows) {
		ids = append(ids, fieldID{s.rows[half] + uint32(link%6), uint32(link)})
	}
	return ids
}
