// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package scan finds a machine's AMD GPUs: the functions on the PCI bus, the DRM devices of the amdgpu driver, and the topology
// of the compute driver (KFD).
package scan

import (
	"os"

	"github.com/otelgpu/gpureceiver/internal/pci"
)

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
