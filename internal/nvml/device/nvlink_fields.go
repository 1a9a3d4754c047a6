// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

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

// maxLinks bounds how many links a device may report.
const maxLinks = 64

// linkSpec is where to find a quantity of a link: fields whose scope is the link, or on older drivers a field for each link, links 0 to 5
// in one row of numbers and 6 to 11 in another.
type linkSpec struct {
	what    string
	scoped  []uint32
	rows    [2]uint32
	instead bool      // of another quantity:
	of      linkField // useless where this one is supported
	total   field     // useless where this total is supported and single links are not wanted
}

var linkSpecs = [numLinkFields]linkSpec{
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
