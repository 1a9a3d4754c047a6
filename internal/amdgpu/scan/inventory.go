// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/pci"
)

// DriverName is the name of the kernel module and of the PCI driver.
const DriverName = "amdgpu"

// Inventory is what the kernel shows of a machine's AMD GPUs at one instant. It does not change after Join.
type Inventory struct {
	Cards        []Card        // GPUs with a DRM device of the amdgpu driver, by address
	CardsErr     error         // why not all DRM devices could be looked at; nil: Cards are all that there are
	Functions    pci.Functions // GPUs on the PCI bus
	BusKnown     bool          // Functions could be read
	DriverLoaded bool

	Nodes    []Node // GPUs and partitions in the KFD topology, by address and partition
	NodesErr error  // why the topology could not be read, or not all of it

	DRMNodes map[string]Owner // by name: renderD128, card1
	// Partitions: the driver has made DRM devices for partitions, be they in use or not.
	Partitions bool
}

// Owner is the GPU or the partition to which a DRM device or a KFD node belongs.
type Owner struct {
	Address   string // of the GPU's PCI function
	Partition int    // 0 for a GPU without partitions
}

// Card returns the card at an address; nil if there is no card.
func (inv *Inventory) Card(address string) *Card {
	i, found := slices.BinarySearchFunc(inv.Cards, address, func(c Card, a string) int { return cmp.Compare(c.Address, a) })
	if !found {
		return nil
	}
	return &inv.Cards[i]
}

// LeftBus reports whether a GPU is known not to be on the PCI bus.
func (inv *Inventory) LeftBus(address string) bool {
	_, onBus := inv.Functions.Find(address)
	return inv.BusKnown && !onBus
}

// NodesOf returns the KFD nodes of a GPU, by the number of the partition.
func (inv *Inventory) NodesOf(address string) []Node {
	i, found := slices.BinarySearchFunc(inv.Nodes, address, func(n Node, a string) int { return cmp.Compare(n.Address, a) })
	if !found {
		return nil
	}
	j := i
	for j < len(inv.Nodes) && inv.Nodes[j].Address == address {
		j++
	}
	return inv.Nodes[i:j]
}

// NodeByID returns the KFD node with a gpu_id; nil if there is no such node.
func (inv *Inventory) NodeByID(gpuID uint64) *Node {
	i := slices.IndexFunc(inv.Nodes, func(n Node) bool { return n.GPUID == gpuID })
	if i < 0 {
		return nil
	}
	return &inv.Nodes[i]
}

// Card is a GPU with a DRM device of the amdgpu driver.
type Card struct {
	Name    string // card1, or renderD128 for a GPU without a display that has only a render node
	Address string // 0000:03:00.0
	// Dir is the directory of the PCI function, by its true path: whatever the cards are numbered later, it is this GPU's.
	Dir string
	// Device is the directory of its DRM device. The driver makes another when it is loaded again.
	Device string
	DRM    []string // the names of its DRM nodes, card1 before renderD128
	// VideoDecodes: the engine for encoding video decodes too, as from version 4 of the video block (VCN) on.
	VideoDecodes bool
}
