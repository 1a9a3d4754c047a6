// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/xid"
)

const (
	// sequencePeriod is how long after an event another one may come with it. The drivers report them one after the other; neither vendor says a time.
	sequencePeriod = time.Minute
	// maxSequence bounds how many events are remembered.
	maxSequence = 256
)

// eventSequence are the last XIDs, faults of AMD's GPUs and resets that were queued, oldest first.
type eventSequence []gpu.Event

// add remembers an event, and sets what it follows: the last event before it on the same GPU, or on the same partition, with which it comes. An XID
// comes with those that NVIDIA documents, and a reset of an AMD GPU with the fault that it is to resolve.
func (s *eventSequence) add(e *gpu.Event) {
	follows := comesWith(e)
	if follows == nil {
		return
	}
	for i := range slices.Backward(*s) {
		earlier := &(*s)[i]
		if !before(earlier, e) {
			continue
		}
		if e.Type == gpu.EventReset && earlier.Type == gpu.EventReset && earlier.Reset == gpu.ResetSucceeded {
			break // what was before is resolved
		}
		if follows(earlier) {
			e.Follows = earlier.UID
			break
		}
	}
	if len(*s) == maxSequence {
		*s = append((*s)[:0], (*s)[1:]...)
	}
	*s = append(*s, *e)
}

// comesWith returns which earlier events an event comes with; nil: it has no part in a sequence.
func comesWith(e *gpu.Event) func(*gpu.Event) bool {
	switch {
	case e.Type == gpu.EventXID:
		entry, known := xid.Lookup(e.XID)
		return func(earlier *gpu.Event) bool {
			return known && earlier.Type == gpu.EventXID && entry.Follows(earlier.XID)
		}
	case e.Type == gpu.EventReset:
		return asksForReset
	case asksForReset(e):
		return func(*gpu.Event) bool { return false }
	default:
		return nil
	}
}

// asksForReset reports whether the driver of an AMD GPU resets it because of an event: a ring whose job it could not end alone, or wrong
// data.
func asksForReset(e *gpu.Event) bool {
	switch e.Type {
	case gpu.EventRingTimeout:
		return !e.Recovered
	case gpu.EventRASError:
		return e.Class == gpu.ClassUncorrected || e.Class == gpu.ClassPoison
	default:
		return false
	}
}

// before reports whether an event came shortly before another one at the same place. An event of a GPU concerns each of its partitions.
func before(earlier, e *gpu.Event) bool {
	start := e.Time
	if e.Count > 0 {
		start = e.First
	}
	after := start.Sub(earlier.Time)
	same := earlier.DeviceID == e.DeviceID || earlier.Parent == e.DeviceID || earlier.DeviceID == e.Parent
	return same && after >= 0 && after <= sequencePeriod
}
