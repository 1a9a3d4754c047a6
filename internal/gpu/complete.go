// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "strings"

// CompleteIDs gives devices whose true id could not be read a placeholder: <node>/<PCI address>, a partition /<n> after it.
// A source leaves such an ID empty, or lets it begin with "/" for a partition; so may Parent and Process.DeviceID, which
// are then completed from the same PCI address. A device without a PCI address either is numbered by its index.
func (n *Node) CompleteIDs() {
	place := n.Host.NodeName
	if place == "" {
		place = n.Host.Name
	}
	for i := range n.Devices {
		d := &n.Devices[i]
		if d.ID != "" && !strings.HasPrefix(d.ID, "/") {
			continue
		}
		address := d.Info.PCIAddress
		if address == "" {
			address = d.Name
		}
		d.ID = place + "/" + address + d.ID
	}
}
