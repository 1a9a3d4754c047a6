// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Describer adds to a node what the vendor's driver does not know, such as the names of its processes or the containers that use its devices.
// What it cannot read becomes a problem of the node.
type Describer interface {
	Describe(ctx context.Context, node *gpu.Node)
}

// Reader reads a source and completes its nodes. It is for one goroutine at a time.
type Reader struct {
	Source     gpu.Source
	Processes  Describer // nil: processes stay as the source has them
	Bus        Describer // adds what the machine's bus knows of the devices; nil: nothing
	Attributor Describer // adds the containers that hold or use the devices; nil: nothing

	counters deviceCounters
}

// Read reads the source once and adds what it cannot know: the host, the ids of devices without IDs, the faults that follow from readings,
// the errors of the bus, the processes' details, and the containers that hold or use the devices. It removes totals that may be wrong. An
// error is the source's.
func (r *Reader) Read(ctx context.Context, host gpu.Host) (*gpu.Node, error) {
	start := time.Now()
	node, err := r.Source.Read(ctx)
	if err != nil {
		return nil, err
	}
	node.Host = host
	if node.Time.IsZero() {
		node.Time = start
	}
	node.CompleteIDs()
	for i := range node.Devices {
		node.Devices[i].AddFaultsOfReadings()
	}
	if r.Bus != nil {
		r.Bus.Describe(ctx, node)
	}
	r.counters.check(node)
	if r.Processes != nil {
		r.Processes.Describe(ctx, node)
	}
	if r.Attributor != nil {
		r.Attributor.Describe(ctx, node)
	}
	return node, nil
}
