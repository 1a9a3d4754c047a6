// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "strings"

// CompleteIDs gives devices whose true id could not be read a placeholder: <node>/<PCI address>, a partition /<n> after it.
// A source leaves such an ID empty, or "/<n>" for a partition, with an empty Parent; its processes then name the device by
// the PCI address, with the /<n>. Where there is no PCI address either, the device's name stands in for it.
func (n *Node) CompleteIDs() {
	place := n.Host.NodeName
	if place == "" {
		place = n.Host.Name
	}
	var completed map[string]string // by what the processes call them
	for i := range n.Devices {
		d := &n.Devices[i]
		partition := strings.HasPrefix(d.ID, "/")
		if d.ID != "" && !partition {
			continue
		}
		address := d.Info.PCIAddress
		if address == "" {
			address = d.Name
		}
		if partition {
			d.Parent = place + "/" + address
		}
		if completed == nil {
			completed = make(map[string]string)
		}
		id := place + "/" + address + d.ID
		completed[address+d.ID] = id
		d.ID = id
	}
	for i := range n.Processes {
		if id, ok := completed[n.Processes[i].DeviceID]; ok {
			n.Processes[i].DeviceID = id
		}
	}
}
