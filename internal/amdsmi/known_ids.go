// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

// knownIDs are the unique ids that were read, by the PCI address of the device that told them. A GPU that is being reset
// refuses to tell its own, and must not become another one for that read.
type knownIDs map[address]string

// complete gives the entries whose unique id was not read the one that was last told at their address, as long as the address
// stays listed and no other device tells that id. listed: the entries are all that there are.
func (m knownIDs) complete(entries []entry, listed bool) {
	told := make(map[string]address, len(entries))
	present := make(map[address]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.unique != "" {
			told[e.unique] = e.address.board()
		}
		present[e.address] = true
	}
	for place, unique := range m {
		board, elsewhere := told[unique]
		if elsewhere && board != place.board() || listed && !present[place] {
			delete(m, place)
		}
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.address == (address{}):
		case e.unique == "":
			e.unique = m[e.address]
		case len(m) < maxDevices || m[e.address] != "":
			m[e.address] = e.unique
		}
	}
}
