// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"path/filepath"
	"slices"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// partition is a compute partition of a GPU. It belongs to the board.
type partition struct {
	node kfdNode
	xcp  *dir // of the device with its own table; nil where the kernel has none
}

func (p *partition) close() {
	p.xcp.close()
}

// divide makes the devices of the partitions. What is the package's, power and temperatures and the like, they do not have.
func (b *board) divide() {
	n := b.count()
	if n > 0 {
		// The names are those of the first partition.
		b.out.device.Aliases = nil
	}
	if n == 0 {
		for _, p := range b.parts {
			p.close()
		}
		b.parts = nil
		return
	}
	b.openPartitions(n)
	b.out.partitions = slices.Grow(b.out.partitions[:0], n)
	for i, p := range b.parts {
		d := gpu.Device{
			Name:      b.name,
			Model:     b.identity.model,
			Vendor:    gpu.AMD,
			Epoch:     b.epoch,
			Partition: gpu.Some(i),
			Info: gpu.Info{
				DriverVersion:     b.identity.info.DriverVersion,
				PCIAddress:        b.address,
				Profile:           b.identity.profile,
				ComputeCapability: b.identity.info.ComputeCapability,
				NUMANode:          b.identity.info.NUMANode,
			},
		}
		if b.identity.unique != "" {
			d.ID, d.Parent = partitionID(b.identity.unique, i), b.identity.unique
		}
		p.names(&d, b, i)
		if b.want.Has(gpu.GroupMemory) {
			p.memory(&d, b)
		}
		if !b.out.asleep && b.want.Has(gpu.GroupUtilization|gpu.GroupMediaUtilization) {
			p.utilization(&d, b, i)
		}
		b.out.partitions = append(b.out.partitions, d)
	}
}

// partitionID returns the hw.id of a partition of the GPU with this unique_id.
func partitionID(unique string, partition int) string { return unique + "/" + strconv.Itoa(partition) }

// node returns the node of a partition in the KFD topology; nil where it is not seen.
func (b *board) node(partition int) *kfdNode {
	for i := range b.nodes {
		if b.nodes[i].partition == partition {
			return &b.nodes[i]
		}
	}
	return nil
}

// openPartitions opens the partitions anew where they are not those of the last read.
func (b *board) openPartitions(n int) {
	same := len(b.parts) == n
	for i := 0; same && i < n; i++ {
		same = b.parts[i].isOf(b.node(i))
	}
	if same {
		return
	}
	for _, p := range b.parts {
		p.close()
	}
	b.parts = make([]*partition, n)
	for i := range b.parts {
		p := &partition{}
		b.parts[i] = p
		node := b.node(i)
		if node == nil {
			continue
		}
		p.node = *node
		for _, node := range p.node.drm {
			if p.xcp != nil {
				break
			}
			if d, err := openDir(filepath.Join(b.root, "sys/class/drm", node, "device/xcp")); err == nil {
				p.xcp = d
			}
		}
	}
}

// isOf tells whether a partition was opened for a node as it is now, or for none. Its DRM device is made after it.
func (p *partition) isOf(node *kfdNode) bool {
	if node == nil {
		return p.node.path == ""
	}
	return p.node.gpuID == node.gpuID && p.node.path == node.path && p.node.xcp == node.xcp && slices.Equal(p.node.drm, node.drm)
}

// names gives a partition the names of its own DRM device. The first has that of the GPU. Of one whose node, or the device of
// whose node, is not seen they are not known.
func (p *partition) names(d *gpu.Device, b *board, i int) {
	if p.node.xcp == "" {
		if i == 0 && len(b.nodes) > 0 {
			d.Aliases = append(slices.Clone(b.alias), b.address)
		}
		return
	}
	d.Aliases = append(slices.Clone(p.node.drm), p.node.xcp)
	for _, node := range p.node.drm {
		if len(node) > 4 && node[:4] == "card" {
			d.Name = node
		}
	}
}

// memory sets the partition's part of the memory. Which of it is in use only AMD's own driver tells.
func (p *partition) memory(d *gpu.Device, b *board) {
	if p.node.memory > 0 && p.node.memory <= mostBytes {
		d.Memory.Limit = gpu.Some(int64(p.node.memory))
	}
	if p.node.path == "" {
		return
	}
	used, err := p.node.usedMemory(b.buf)
	if err != nil {
		b.refuse("memory", "mem_banks/0/used_memory", err)
		return
	}
	if used <= p.node.memory {
		d.Memory.Usage = gpu.Some(int64(used))
	}
}

// utilization sets what the partition does: from its own table, else from its share of the GPU's.
func (p *partition) utilization(d *gpu.Device, b *board, i int) {
	s := share{}
	if i < maxPartitions {
		s = b.metrics.shares[i]
	}
	if p.xcp != nil {
		if text, ok := b.fileOf(p.xcp, "xcp_metrics", "xcp_metrics"); ok {
			own, err := b.decode.decodeShare(text)
			if err != nil {
				b.out.problems.add("xcp_metrics", err)
			} else {
				s = share{gfx: own.gfx.Or(s.gfx), jpeg: own.jpeg.Or(s.jpeg)}
			}
		}
	}
	if b.want.Has(gpu.GroupUtilization) {
		d.Utilization[gpu.TaskGeneral] = s.gfx
	}
	if b.want.Has(gpu.GroupMediaUtilization) {
		d.Utilization[gpu.TaskJPEG] = s.jpeg
	}
}
