// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

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
	numLinkFields
)

// linkGroups need to know how many links there are.
const linkGroups = gpu.GroupInterconnect | gpu.GroupInterconnectErrors | gpu.GroupInterconnectLinks

// mostLinks bounds what a device may claim to have.
const mostLinks = 64

// linkSpec is where to find a quantity of a link: fields whose scope is the link, or on older drivers fields of which each
// link has its own, links 0 to 5 in one row and 6 to 11 in another.
type linkSpec struct {
	what    string
	scoped  []uint32
	rows    [2]uint32
	after   linkField // pointless where this one is supported; itself otherwise
	total   field     // pointless where this total is supported and single links are not wanted
	instead bool      // after is set
}

var linkSpecs = [numLinkFields]linkSpec{
	linkTransmittedKiB: {what: "NVLink bytes", scoped: []uint32{138}, total: fieldNVLinkTransmitted},
	linkReceivedKiB:    {what: "NVLink bytes", scoped: []uint32{139}, total: fieldNVLinkReceived},
	linkTransmitted:    {what: "NVLink bytes", scoped: []uint32{202}, after: linkTransmittedKiB, instead: true},
	linkReceived:       {what: "NVLink bytes", scoped: []uint32{204}, after: linkReceivedKiB, instead: true},
	linkCRC:            {what: "NVLink errors", scoped: []uint32{163}, total: fieldNVLinkCRCFlit},
	linkCRCFlit:        {what: "NVLink errors", rows: [2]uint32{32, 96}, after: linkCRC, instead: true},
	linkCRCData:        {what: "NVLink errors", rows: [2]uint32{39, 102}, after: linkCRC, instead: true},
	linkReplay:         {what: "NVLink errors", scoped: []uint32{161}, rows: [2]uint32{46, 108}, total: fieldNVLinkReplay},
	linkRecovery:       {what: "NVLink errors", scoped: []uint32{162, 215}, rows: [2]uint32{53, 114}, total: fieldNVLinkRecovery},
	linkECC:            {what: "NVLink errors", rows: [2]uint32{148, 154}, total: fieldNVLinkECC},
}

// candidates are the fields in which a link's quantity may be found, best first.
func (s *linkSpec) candidates(link int) []ask {
	var asks []ask
	for _, id := range s.scoped {
		asks = append(asks, ask{id, uint32(link)})
	}
	if row := link / 6; s.rows[0] != 0 && row < len(s.rows) {
		asks = append(asks, ask{s.rows[row] + uint32(link%6), uint32(link)})
	}
	return asks
}
