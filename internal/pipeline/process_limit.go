// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// keepLargest keeps the processes with the most device memory and returns the number of those that it removed. Processes of
// unknown memory are the first to go.
func keepLargest(node *gpu.Node, limit int) int {
	dropped := len(node.Processes) - limit
	if dropped <= 0 {
		return 0
	}
	slices.SortStableFunc(node.Processes, func(a, b gpu.Process) int {
		x, known := a.Memory.Get()
		y, otherKnown := b.Memory.Get()
		switch {
		case known != otherKnown && known:
			return -1
		case known != otherKnown:
			return 1
		default:
			return cmp.Compare(y, x)
		}
	})
	node.Processes = node.Processes[:limit]
	return dropped
}
