// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// lastIndexes keep the index of a device while its source does not show the device, so that hw.gpu.info stays one series when a tool
// crashes or a GPU is lost. An index that another device has got since is not kept: NVML numbers the remaining GPUs again when it
// is opened without one of them.
type lastIndexes struct {
	indexes map[string]int // by the ID of the device
}

// complete sets a missing index of a device to its last one. A node without devices says nothing about them.
func (l *lastIndexes) complete(node *gpu.Node) {
	if len(node.Devices) == 0 {
		return
	}
	now := make(map[string]int, len(node.Devices))
	for i := range node.Devices {
		d := &node.Devices[i]
		if last, ok := l.indexes[d.ID]; ok && !d.CurrentIndex.Known() && !indexInUse(node, d, last) {
			d.CurrentIndex = gpu.Some(last)
		}
		if index, ok := d.CurrentIndex.Get(); ok {
			now[d.ID] = index
		}
	}
	l.indexes = now
}

// indexInUse reports whether another device of the node has an index.
func indexInUse(node *gpu.Node, d *gpu.Device, index int) bool {
	for i := range node.Devices {
		if o := &node.Devices[i]; o.CurrentIndex == gpu.Some(index) && countedTogether(d, o) {
			return true
		}
	}
	return false
}

// countedTogether reports whether no two of these devices have the same index. MIG instances are numbered on their GPU. AMD's tools
// number the partitions of all GPUs together, and a GPU has the number of its first partition.
func countedTogether(a, b *gpu.Device) bool {
	if a.Vendor == gpu.AMD && cmp.Or(a.Parent, a.ID) != cmp.Or(b.Parent, b.ID) {
		return true
	}
	return a.Parent == b.Parent
}
