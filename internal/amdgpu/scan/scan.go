// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package scan finds a machine's AMD GPUs: the functions on the PCI bus, the DRM devices of the amdgpu driver, and the topology
// of the compute driver (KFD).
package scan

import (
	"cmp"
	"errors"
	"io/fs"
	"os"

	"github.com/otelgpu/gpureceiver/internal/pci"
)

// Scan reads the inventory below root. An error is returned if this process may open no further file; then nothing is known.
func Scan(root string) (*Inventory, error) {
	cards, err1 := ReadCards(root)
	bus, err2 := ReadBus(root)
	topology, err3 := ReadTopology(root)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	return Join(cards, bus, topology), nil
}

// ReadCards finds the driver's DRM devices below root. Its errors are the errors of Scan.
func ReadCards(root string) (*Cards, error) {
	s := &scanner{root: root}
	_, err := os.Stat(s.path("sys/module", DriverName))
	s.cards.loaded = !errors.Is(err, fs.ErrNotExist)
	s.scanDRM()
	return &s.cards, s.fileLimit
}

// ReadBus finds the GPUs on the PCI bus below root. Its errors are the errors of Scan.
func ReadBus(root string) (*Bus, error) {
	s := &scanner{root: root}
	functions, err := pci.NewBus(s.path("sys"), pci.VendorAMD, isGPU).Scan(true)
	s.note(err)
	if err != nil {
		return &Bus{}, s.fileLimit
	}
	return &Bus{functions: append(pci.Functions{}, functions...), known: true}, s.fileLimit // known, even if it is empty
}

// ReadTopology reads the topology of the compute driver below root. Its errors are the errors of Scan.
func ReadTopology(root string) (*Topology, error) {
	s := &scanner{root: root}
	s.scanKFD()
	return &s.topology, s.fileLimit
}

// isGPU reports whether a PCI class is the class of a display controller or of a processing accelerator.
func isGPU(class uint32) bool { return class>>16 == 0x03 || class>>8 == 0x1200 }
