// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import "github.com/otelgpu/gpureceiver/internal/gpu"

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

// linkSpec is where to find a quantity of a link: fields whose scope is the link, or on older drivers a field for each link, links 0 to 5
// in one row of numbers and 6 to 11 in another.
type linkSpec struct {
	what    string
	group   gpu.Group // that needs it; 0: wanted with single links, and where the device has no total
	scoped  []uint32
	rows    [2]uint32
	instead bool      // of another quantity:
	of      linkField // useless where this one is supported
	total   field     // useless where this total is supported and single links are not wanted
}

// linkErrorGroups are the groups that need the errors for which NVLink 5 has no totals.
const linkErrorGroups = gpu.GroupInterconnectErrors | gpu.GroupInterconnectLinks

var linkSpecs = newLinkSpecs()

func newLinkSpecs() [numLinkFields]linkSpec {
	specs := [numLinkFields]linkSpec{
		linkTransmittedKiB: {what: "NVLink bytes", scoped: []uint32{138}, total: fieldNVLinkTransmitted},
		linkReceivedKiB:    {what: "NVLink bytes", scoped: []uint32{139}, total: fieldNVLinkReceived},
		linkTransmitted:    {what: "NVLink bytes", scoped: []uint32{202}, instead: true, of: linkTransmittedKiB},
		linkReceived:       {what: "NVLink bytes", scoped: []uint32{204}, instead: true, of: linkReceivedKiB},
		linkCRC:            {what: "NVLink errors", scoped: []uint32{163}, total: fieldNVLinkCRCFlit},
		linkCRCFlit:        {what: "NVLink errors", rows: [2]uint32{32, 96}, instead: true, of: linkCRC},
		linkCRCData:        {what: "NVLink errors", rows: [2]uint32{39, 102}, instead: true, of: linkCRC},
		linkReplay:         {what: "NVLink errors", scoped: []uint32{161}, rows: [2]uint32{46, 108}, total: fieldNVLinkReplay},
		linkRecovery:       {what: "NVLink errors", scoped: []uint32{162, 215}, rows: [2]uint32{53, 114}, total: fieldNVLinkRecovery},
		linkECC:            {what: "NVLink errors", rows: [2]uint32{148, 154}, total: fieldNVLinkECC},

		linkMalformedPackets:     {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{206}},
		linkBufferOverruns:       {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{207}},
		linkReceiveErrors:        {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{208}},
		linkReceiveRemoteErrors:  {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{209}},
		linkReceiveGeneralErrors: {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{210}},
		linkIntegrityErrors:      {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{211}},
		linkTransmitDiscards:     {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{212}},
		linkRecoveriesFailed:     {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{214}},
		linkEffectiveErrors:      {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{219}},
		linkSymbolErrors:         {what: "NVLink errors", group: linkErrorGroups, scoped: []uint32{221}},
		linkEffectiveBER:         {what: "NVLink bit errors", group: gpu.GroupInterconnectBitErrors, scoped: []uint32{220}},
		linkSymbolBER:            {what: "NVLink bit errors", group: gpu.GroupInterconnectBitErrors, scoped: []uint32{222}},

		linkState: {what: "NVLink state", group: gpu.GroupInterconnectState, scoped: []uint32{165}},
		linkSpeed: {what: "NVLink speed", group: gpu.GroupInterconnectSpeed, scoped: []uint32{164}, rows: [2]uint32{84, 132}},
	}
	for bin := range gpu.NumFECBins {
		specs[int(linkFEC)+bin] = linkSpec{what: "NVLink bit errors", group: gpu.GroupInterconnectBitErrors, scoped: []uint32{235 + uint32(bin)}}
	}
	return specs
}

// candidates are the fields in which a link's quantity may be found, best first.
func (s *linkSpec) candidates(link int) []fieldID {
	var ids []fieldID
	for _, id := range s.scoped {
		ids = append(ids, fieldID{id, uint32(link)})
	}
	if row := link / 6; s.rows[0] != 0 && row < len(s.rows) {
		ids = append(ids, fieldID{s.rows[row] + uint32(link%6), uint32(link)})
	}
	return ids
}
