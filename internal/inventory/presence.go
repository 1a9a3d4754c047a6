// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci"
)

// Count counts physical GPUs for gpu.Node.Presence: the visible GPUs, the missing GPUs, and the GPUs that are bound to a driver
// other than the one named.
//
// visible and absent are the addresses of the known GPUs that are visible and that are not; empty if an address is unknown. bus is what the
// kernel lists. It is nil if the bus could not be listed; then the number of unmanaged GPUs is unknown. An unknown GPU on the bus is
// missing, unless it may be a known one without an address.
func Count(visible, absent []string, bus pci.Functions, driver string) (p [gpu.NumPresences]gpu.Opt[int64]) {
	var missing, unmanaged int64
	for _, address := range absent {
		if !bus.Foreign(address, driver) {
			missing++
		}
	}
	unplaced := 0 // known GPUs without an address
	for _, address := range slices.Concat(visible, absent) {
		if address == "" {
			unplaced++
		}
	}
	for _, f := range bus {
		switch {
		case slices.Contains(visible, f.Address):
		case bus.Foreign(f.Address, driver):
			unmanaged++
		case slices.Contains(absent, f.Address):
		case unplaced > 0 && f.Driver == driver:
			unplaced--
		default:
			missing++
		}
	}
	p[gpu.Visible], p[gpu.Missing] = gpu.Some(int64(len(visible))), gpu.Some(missing)
	if bus != nil {
		p[gpu.Unmanaged] = gpu.Some(unmanaged)
	}
	return p
}
