// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"strconv"
)

// CompleteIDs sets the IDs that the source could not read to placeholders: <node>/<PCI address> for a GPU and <node>/<PCI address>/<n> for
// partition n, whose Parent is then the placeholder of its GPU. Processes that name such a device by its Location get the same ID. If the
// PCI address of a GPU is unknown, its name replaces the address.
func (n *Node) CompleteIDs() {
	var placeholders map[Location]string
	for i := range n.Devices {
		d := &n.Devices[i]
		if d.ID != "" {
			continue
		}
		location := d.Location()
		d.ID = n.Placeholder(d)
		if location.Partition.Known() {
			d.Parent = n.placeholder(location.PCIAddress)
		}
		if placeholders == nil {
			placeholders = make(map[Location]string)
		}
		placeholders[location] = d.ID
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

// Placeholder returns the ID that CompleteIDs gives a device at this Location if the ID of the device could not be read.
func (n *Node) Placeholder(d *Device) string {
	location := d.Location()
	id := n.placeholder(location.PCIAddress)
	if number, ok := location.Partition.Get(); ok {
		id += "/" + strconv.Itoa(number)
	}
	return id
}

func (n *Node) placeholder(address string) string {
	return cmp.Or(n.Host.NodeName, n.Host.Name) + "/" + address
}
