// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package scan finds a machine's AMD GPUs: the functions on the PCI bus, the DRM devices of the amdgpu driver, and the topology
// of the compute driver (KFD).
package scan

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/pci"
)

// DriverName is the name of the kernel module and of the PCI driver.
const DriverName = "amdgpu"

// Inventory is what the kernel shows of a machine's AMD GPUs at one instant. It is not changed after Scan.
type Inventory struct {
	Cards        []Card        // GPUs with a DRM device of the amdgpu driver, by address
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

// Scan reads the inventory below root. An error is reported where this process may open no further file; then nothing is known.
func Scan(root string) (*Inventory, error) {
	s := &scanner{root: root}
	inv := &s.Inventory
	_, err := os.Stat(s.path("sys/module", DriverName))
	inv.DriverLoaded = err == nil
	functions, err := pci.NewBus(s.path("sys"), pci.VendorAMD, isGPU).Scan(true)
	s.note(err)
	if err == nil {
		inv.Functions, inv.BusKnown = append(pci.Functions{}, functions...), true // known, even if there is none
	}
	s.scanDRM()
	s.scanKFD()
	s.mapDRMNodes()
	if s.fileLimit != nil {
		return nil, s.fileLimit
	}
	return inv, nil
}

// isGPU reports whether a PCI class is that of a display controller or of a processing accelerator.
func isGPU(class uint32) bool { return class>>16 == 0x03 || class>>8 == 0x1200 }

// scanner makes an inventory.
type scanner struct {
	Inventory
	root      string
	xcps      map[string][]string // DRM nodes by the platform device of their partition
	fileLimit error
}

func (s *scanner) path(parts ...string) string {
	return filepath.Join(append([]string{s.root}, parts...)...)
}

// read reads a file below the root.
func (s *scanner) read(parts ...string) (string, error) {
	text, err := sysfs.Read(s.path(parts...))
	s.note(err)
	return string(text), err
}

// note remembers that no further file may be opened.
func (s *scanner) note(err error) { s.fileLimit = cmp.Or(s.fileLimit, sysfs.FileLimit(err)) }

// mapDRMNodes maps the DRM nodes to their GPUs and partitions. A partition is known by the minor number of its render node, which
// the KFD topology has.
func (s *scanner) mapDRMNodes() {
	s.DRMNodes = make(map[string]Owner, 2*len(s.Cards)+2*len(s.xcps))
	for _, c := range s.Cards {
		for _, name := range c.DRM {
			s.DRMNodes[name] = Owner{Address: c.Address}
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, name := range n.DRM {
			s.DRMNodes[name] = Owner{Address: n.Address, Partition: n.Partition}
		}
	}
}

// Card returns the card at an address; nil where there is none.
func (inv *Inventory) Card(address string) *Card {
	i, found := slices.BinarySearchFunc(inv.Cards, address, func(c Card, a string) int { return cmp.Compare(c.Address, a) })
	if !found {
		return nil
	}
	return &inv.Cards[i]
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

// NodeByID returns the KFD node with a gpu_id; nil where there is none.
func (inv *Inventory) NodeByID(gpuID uint64) *Node {
	i := slices.IndexFunc(inv.Nodes, func(n Node) bool { return n.GPUID == gpuID })
	if i < 0 {
		return nil
	}
	return &inv.Nodes[i]
}
