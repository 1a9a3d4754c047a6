// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// match takes from an event of the source the XIDs that the log had before, and reports whether these were all.
func (k *kernelXIDs) match(e *gpu.Event) bool {
	for {
		i := find(k.logXIDs, e)
		if i < 0 {
			return false
		}
		k.logXIDs = append(k.logXIDs[:i], k.logXIDs[i+1:]...)
		if !takeOne(e) {
			return true
		}
	}
}

// find returns the oldest XID with the GPU and the code of another one; -1 if there is no such XID.
func find(list heldEvents, e *gpu.Event) int {
	for i := range list {
		if other := &list[i].event; other.XID == e.XID && gpuOf(other) == gpuOf(e) {
			return i
		}
	}
	return -1
}

// takeOne takes one of the XIDs that an event represents, and reports whether it represents more.
func takeOne(e *gpu.Event) bool {
	if e.Count <= 1 {
		return false
	}
	if e.Count--; e.Count == 1 {
		e.Count, e.First = 0, time.Time{}
	}
	return true
}
