// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "context"

// Source reads the GPUs of one machine and one vendor.
type Source interface {
	// Read reads every device within the context's deadline. A device that fails is in the node, with its faults; a
	// quantity that fails is absent, with a Problem. A machine without the vendor's GPUs or driver is no error: the node
	// then has no devices, says how many GPUs the PCI bus shows, and tells in a Problem what is missing. The source
	// looks again by itself, at later reads, with back-off. An error means that nothing at all can be said.
	//
	// The node belongs to the source and is valid until the next Read. Read is never called twice at a time.
	Read(ctx context.Context) (*Node, error)

	// Close releases the driver. It never waits for a call that hangs.
	Close() error
}
