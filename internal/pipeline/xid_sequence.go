// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/xid"
)

const (
	// sequencePeriod is how long after an XID another one may come with it. The driver reports them one after the other; NVIDIA says no time.
	sequencePeriod = time.Minute
	// maxSequence bounds how many XIDs are remembered.
	maxSequence = 256
)

// xidSequence are the last XIDs that were queued, oldest first.
type xidSequence []gpu.Event

// add remembers an XID, and sets what it follows: the last XID before it on the same GPU, or on the same partition, that NVIDIA says it comes with.
func (s *xidSequence) add(e *gpu.Event) {
	entry, known := xid.Lookup(e.XID)
	for i := len(*s) - 1; i >= 0 && known; i-- {
		if earlier := &(*s)[i]; before(earlier, e) && entry.Follows(earlier.XID) {
			e.Follows = earlier.UID
			break
		}
	}
	if len(*s) == maxSequence {
		*s = append((*s)[:0], (*s)[1:]...)
	}
	*s = append(*s, *e)
}

// before reports whether an XID came shortly before another one, and where that one came. What concerns a GPU concerns each of its partitions.
func before(earlier, e *gpu.Event) bool {
	began := e.Time
	if e.Count > 0 {
		began = e.First
	}
	after := began.Sub(earlier.Time)
	same := earlier.DeviceID == e.DeviceID || earlier.Parent == e.DeviceID || earlier.DeviceID == e.Parent
	return same && after >= 0 && after <= sequencePeriod
}
