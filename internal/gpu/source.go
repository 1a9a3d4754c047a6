// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "context"

// Source reads the GPUs of one vendor in one machine.
type Source interface {
	// Read reads every device within the context's deadline. A device that fails is in the node with its faults. A quantity that cannot be
	// read is absent, and the node has a Problem. A machine without GPUs or driver of the vendor is not an error: the node
	// has no devices, the presence of the GPUs on the PCI bus, and a Problem that names what is missing. Later reads try again,
	// with back-off. Node.Failure says why no GPU was read. An error means that there is no result at all.
	//
	// The node belongs to the source and is valid until the next Read. Only one Read runs at a time.
	Read(ctx context.Context) (*Node, error)

	// Close releases the driver. It does not wait for calls that hang.
	Close() error
}

// Watcher is a source that learns of events between reads.
type Watcher interface {
	// Watch makes the source call report with events between reads, from a goroutine of its own. Close waits for the last call. An event is
	// either in a node of Read or given to report, never both. Call Watch before the first Read.
	Watch(report func([]Event))

	// LastEvents asks for events once more, before Close, and returns those that were neither in a node nor given to found. It waits for a call that
	// runs, and may hang with it.
	LastEvents() []Event
}
