// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import "github.com/otelgpu/gpureceiver/internal/pci"

// Cards are the driver's DRM devices, a part of an inventory.
type Cards struct {
	loaded bool // the driver is
	cards  []Card
	err    error               // why not all could be looked at
	xcps   map[string][]string // DRM nodes by the platform device of their partition
}

// Bus is what a scan of the PCI bus finds, a part of an inventory.
type Bus struct {
	functions pci.Functions
	known     bool
}

// Topology is what the compute driver shows, a part of an inventory.
type Topology struct {
	nodes []Node
	err   error
}
