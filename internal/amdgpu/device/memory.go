// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readMemory reads the memory. size is what the GPU was known to have, partitions how many it has.
func readMemory(r *reader, size gpu.Opt[int64], nodes []scan.Node, partitions int, d *gpu.Device) {
	bytes := func(name string) gpu.Opt[int64] {
		v, ok := r.number("memory", name).Get()
		if !ok || v < 0 {
			return gpu.Opt[int64]{}
		}
		return plausible.Bytes(uint64(v))
	}
	m := &d.Memory
	m.Limit = bytes("mem_info_vram_total").Or(size)
	m.Usage = bytes("mem_info_vram_used")
	m.VisibleLimit = bytes("mem_info_vis_vram_total")
	m.VisibleUsage = bytes("mem_info_vis_vram_used")
	m.SystemLimit = bytes("mem_info_gtt_total")
	m.SystemUsage = bytes("mem_info_gtt_used")
	if m.Limit == gpu.Some[int64](0) {
		m.VisibleLimit, m.VisibleUsage = gpu.Opt[int64]{}, gpu.Opt[int64]{}
		m.Limit, m.Usage = readUnifiedMemory(nodes, partitions)
	}
}

// readUnifiedMemory returns the memory of an accelerator that shares the machine's memory (MI300A). The DRM driver reports no memory for
// such an accelerator. The compute driver reports it if it shows the whole GPU. Only AMD's own driver reports the usage; a usage that all
// partitions repeat may be the GPU's.
func readUnifiedMemory(nodes []scan.Node, partitions int) (limit, usage gpu.Opt[int64]) {
	if len(nodes) != max(1, partitions) {
		return limit, usage
	}
	var total, used, first uint64
	usageKnown, repeated := true, len(nodes) > 1
	for i := range nodes {
		n := &nodes[i]
		if n.Memory == 0 || n.Memory > plausible.MostBytes {
			return limit, usage
		}
		total += n.Memory
		v, err := n.UsedMemory()
		usageKnown = usageKnown && err == nil && v <= n.Memory
		if i == 0 {
			first = v
		}
		repeated = repeated && v == first
		used += v
	}
	if usageKnown && (!repeated || used == 0) {
		usage = gpu.Some(int64(used))
	}
	return gpu.Some(int64(total)), usage
}
