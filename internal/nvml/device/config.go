// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Config is what a GPU has to know of the source that reads it.
type Config struct {
	// Want is what to read.
	Want gpu.Group
	// Interval is the time between two reads; 0: not known.
	Interval time.Duration
	// PCIeSampling adds PCIe traffic up if the driver's counters cannot be used.
	PCIeSampling bool
	// Now is the machine's clock.
	Now func() time.Time
	// Peers are the GPUs of the machine that answer; nil: peers are not wanted.
	Peers *Peers
	// NUMANode returns the NUMA node of a PCI address.
	NUMANode func(address string) gpu.Opt[int64]
}
