// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Describer adds what the machine's process table has about the processes of a node: start time, names, owner and control
// group. What it cannot read becomes a problem of the node.
type Describer interface {
	Describe(ctx context.Context, node *gpu.Node)
}

// Reader reads a source and completes its nodes. It is for one goroutine at a time.
type Reader struct {
	Source     gpu.Source
	Processes  Describer               // nil: processes stay as the source has them
	Attributor *attribution.Attributor // nil: containers are not attributed
}

// Read reads the source once and adds what it cannot know: the host, the ids of devices that have none of their own, the
// processes' details, and the containers that hold or use the devices. An error is the source's.
func (r *Reader) Read(ctx context.Context, host gpu.Host) (*gpu.Node, error) {
	began := time.Now()
	node, err := r.Source.Read(ctx)
	if err != nil {
		return nil, err
	}
	node.Host = host
	if node.Time.IsZero() {
		node.Time = began
	}
	node.CompleteIDs()
	if r.Processes != nil {
		r.Processes.Describe(ctx, node)
	}
	if r.Attributor != nil {
		r.Attributor.Apply(ctx, node)
	}
	return node, nil
}
