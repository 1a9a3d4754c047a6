// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"slices"
)

// Join assembles an inventory from its parts. The bus and the topology are nil if they could not be read.
func Join(cards *Cards, bus *Bus, topology *Topology) *Inventory {
	inv := &Inventory{Cards: cards.cards, CardsErr: cards.err, DriverLoaded: cards.loaded, Partitions: len(cards.xcps) > 0}
	if bus != nil {
		inv.Functions, inv.BusKnown = bus.functions, bus.known
	}
	if topology != nil {
		inv.Nodes, inv.NodesErr = slices.Clone(topology.nodes), topology.err
		inv.arrangeNodes(cards.xcps)
	}
	inv.mapDRMNodes(len(cards.xcps))
	return inv
}

// arrangeNodes numbers the partitions of each GPU and finds their DRM nodes.
func (inv *Inventory) arrangeNodes(xcps map[string][]string) {
	for i := range inv.Nodes {
		n := &inv.Nodes[i]
		if inv.Card(n.Address) == nil {
			// The number of the partition is in the place of the function.
			if address := n.Address[:len(n.Address)-1] + "0"; inv.Card(address) != nil {
				n.Partition = int(n.Address[len(n.Address)-1] - '0')
				n.Address = address
			}
		}
		for xcp, nodes := range xcps {
			if len(n.DRM) > 0 && slices.Contains(nodes, n.DRM[0]) {
				n.XCP, n.DRM = xcp, nodes
			}
		}
	}
	slices.SortFunc(inv.Nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.number, b.number))
	})
	for i := 0; i < len(inv.Nodes); {
		nodes := inv.NodesOf(inv.Nodes[i].Address)
		numberPartitions(nodes)
		i += len(nodes)
	}
}

// numberPartitions numbers the nodes of a GPU in their order unless each has a number of its own. Own numbers stay: a container may
// see only some of the nodes.
func numberPartitions(nodes []Node) {
	for i := range nodes[1:] {
		if nodes[i].Partition == nodes[i+1].Partition {
			for k := range nodes {
				nodes[k].Partition = k
			}
			return
		}
	}
}

// mapDRMNodes maps the DRM nodes to their GPUs and partitions. A partition is known by the minor number of its render node, which
// the KFD topology has.
func (inv *Inventory) mapDRMNodes(partitions int) {
	inv.DRMNodes = make(map[string]Owner, 2*len(inv.Cards)+2*partitions)
	for _, c := range inv.Cards {
		for _, name := range c.DRM {
			inv.DRMNodes[name] = Owner{Address: c.Address}
		}
	}
	for i := range inv.Nodes {
		n := &inv.Nodes[i]
		for _, name := range n.DRM {
			inv.DRMNodes[name] = Owner{Address: n.Address, Partition: n.Partition}
		}
	}
}
