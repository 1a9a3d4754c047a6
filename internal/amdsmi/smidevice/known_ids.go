// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
)

// KnownIDs are the unique ids that were read, by the PCI address of the listed device that had them. A GPU does not report its id while it
// is reset, and must not become another GPU for that read.
type KnownIDs map[smitext.Address]string

// Complete gives devices without a unique id the one that was last read at their address, unless the address was not listed since or another
// device has that id. complete: the devices are all that there are.
func (m KnownIDs) Complete(devices []Listed, complete bool) {
	reported := make(map[string]smitext.Address, len(devices))
	present := make(map[smitext.Address]bool, len(devices))
	for i := range devices {
		e := &devices[i]
		if e.UniqueID != "" {
			reported[e.UniqueID] = e.Address.GPU()
		}
		present[e.Address] = true
	}
	for place, unique := range m {
		gpu, elsewhere := reported[unique]
		if elsewhere && gpu != place.GPU() || complete && !present[place] {
			delete(m, place)
		}
	}
	for i := range devices {
		e := &devices[i]
		switch {
		case e.Address == (smitext.Address{}):
		case e.UniqueID == "":
			e.UniqueID = m[e.Address]
		case len(m) < MaxDevices || m[e.Address] != "":
			m[e.Address] = e.UniqueID
		}
	}
}
