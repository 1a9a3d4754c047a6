// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
)

// KnownIDs are the unique ids that were read, by the PCI address of the device that told them. A GPU that is being reset
// refuses to tell its own, and must not become another one for that read.
type KnownIDs map[smitext.Address]string

// Complete gives the entries whose unique id was not read the one that was last told at their address, as long as the address
// stays listed and no other device tells that id. listed: the entries are all that there are.
func (m KnownIDs) Complete(entries []Listed, listed bool) {
	told := make(map[string]smitext.Address, len(entries))
	present := make(map[smitext.Address]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.UniqueID != "" {
			told[e.UniqueID] = e.Address.GPU()
		}
		present[e.Address] = true
	}
	for place, unique := range m {
		board, elsewhere := told[unique]
		if elsewhere && board != place.GPU() || listed && !present[place] {
			delete(m, place)
		}
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Address == (smitext.Address{}):
		case e.UniqueID == "":
			e.UniqueID = m[e.Address]
		case len(m) < MaxDevices || m[e.Address] != "":
			m[e.Address] = e.UniqueID
		}
	}
}
