// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "strconv"

// CompleteIDs sets the IDs that the source could not read to placeholders: <node>/<PCI address> for a GPU and <node>/<PCI address>/<n> for
// partition n, whose Parent is then the placeholder of its GPU. Processes that name such a device by its Location get the same ID. If the
// PCI address of a GPU is not known, its name replaces the address.
func (n *Node) CompleteIDs() {
	machine := n.Host.NodeName
	if machine == "" {
		machine = n.Host.Name
	}
	var placeholders map[Location]string
	for i := range n.Devices {
		d := &n.Devices[i]
		if d.ID != "" {
			continue
		}
		at := d.Location()
		d.ID = machine + "/" + at.PCIAddress
		if number, ok := at.Partition.Get(); ok {
			d.Parent = d.ID
			d.ID += "/" + strconv.Itoa(number)
		}
		if placeholders == nil {
			placeholders = make(map[Location]string)
		}
		placeholders[at] = d.ID
	}
	for i := range n.Processes {
		p := &n.Processes[i]
		if p.DeviceID != "" {
			continue
		}
		p.DeviceID = placeholders[p.Location]
		p.Location = Location{}
	}
}
