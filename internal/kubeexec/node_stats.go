// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// NodeStats is the state of the reads of one vendor's GPUs of one node.
type NodeStats struct {
	Node   string
	Vendor gpu.Vendor
	// Unreadable is why a node with GPUs is not read: it has no driver pod that is ready. Empty if it has one.
	Unreadable string
	// Read reports whether there was a read; Success and Duration mean nothing before.
	Read     bool
	Success  bool          // of the last read
	Duration time.Duration // of the last read
	LastGood time.Time     // the start of the last successful read; zero without one
	Failures int           // reads that failed in a row
	GPUs     int           // physical GPUs that the last read has read
}

// note notes the end of a read. A read without an answer is neither a success nor a reason for a back-off: its GPUs are sent.
func (s *NodeStats) note(start time.Time, took time.Duration, read *gpu.Node, err error) {
	good := err == nil && read.Failure == nil
	s.Read, s.Success, s.Duration, s.GPUs = true, good, took, 0
	if err != nil {
		s.Failures++
		return
	}
	s.Failures = 0
	if good {
		s.LastGood = start
		visible, _ := read.Presence[gpu.Visible].Get()
		s.GPUs = int(visible)
	}
}
