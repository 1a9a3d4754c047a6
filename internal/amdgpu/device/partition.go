// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// PartitionID returns the hw.id of a partition of the GPU with this unique_id.
func PartitionID(unique string, partition int) string { return unique + "/" + strconv.Itoa(partition) }

// readPartitions returns the devices of n partitions of a GPU. They do not have what is the GPU's: power, temperatures and the like.
func readPartitions(r *reader, cfg Config, input Input, whole *gpu.Device, n int, table *gpumetrics.Table) []gpu.Device {
	if n == 0 {
		return nil
	}
	partitions := make([]gpu.Device, n)
	for i := range partitions {
		d := &partitions[i]
		*d = gpu.Device{
			Name: whole.Name, Model: whole.Model, Vendor: whole.Vendor, Epoch: whole.Epoch, Partition: gpu.Some(i),
			Info: gpu.Info{
				DriverVersion: whole.Info.DriverVersion, PCIAddress: whole.Info.PCIAddress, Profile: whole.Info.Profile,
				MemoryPartition: whole.Info.MemoryPartition, Architecture: whole.Info.Architecture,
				ComputeCapability: whole.Info.ComputeCapability, NUMANode: whole.Info.NUMANode,
			},
		}
		if whole.ID != "" {
			d.ID, d.Parent = PartitionID(whole.ID, i), whole.ID
		}
		node := nodeOf(input.Nodes, i)
		setPartitionNames(d, input, node)
		if cfg.Want.Has(gpu.GroupMemory) && node != nil {
			readPartitionMemory(r, node, d)
		}
		if cfg.Want.Has(gpu.GroupUtilization | gpu.GroupMediaUtilization) {
			readPartitionUtilization(r, cfg, node, table, d, i)
		}
	}
	gpu.DropRepeatedUsage(whole.Memory.Usage, partitions)
	return partitions
}

// nodeOf returns the KFD node of a partition; nil if it is not visible.
func nodeOf(nodes []scan.Node, partition int) *scan.Node {
	i := slices.IndexFunc(nodes, func(n scan.Node) bool { return n.Partition == partition })
	if i < 0 {
		return nil
	}
	return &nodes[i]
}

// setPartitionNames gives a partition the names of its own DRM device. The first partition has the DRM device of the GPU. If the node, or
// the DRM device of the node, is not visible, the names are unknown.
func setPartitionNames(d *gpu.Device, input Input, node *scan.Node) {
	if node == nil || node.XCP == "" {
		if d.Partition == gpu.Some(0) && len(input.Nodes) > 0 {
			d.Aliases = append(slices.Clone(input.Card.DRM), input.Card.Address)
		}
		return
	}
	d.Aliases = append(slices.Clone(node.DRM), node.XCP)
	for _, name := range node.DRM {
		if strings.HasPrefix(name, "card") {
			d.Name = name
		}
	}
}

// keepNames remembers the names of the partitions. If the scan is stale they stay as they were; a name that was never seen is unknown.
func (g *GPU) keepNames(partitions []gpu.Device, stale bool) {
	if g.names == nil {
		g.names = make(map[int]string, len(partitions))
	}
	for i := range partitions {
		d := &partitions[i]
		name, known := g.names[i]
		switch {
		case !stale:
			g.names[i] = d.Name
		case known:
			d.Name = name
		case i > 0: // the first one has the name of the GPU
			d.Name = ""
		}
	}
}

// readPartitionMemory reads a partition's part of the memory. Only AMD's own driver says how much of it is in use; some versions repeat
// the GPU's usage for each partition.
func readPartitionMemory(r *reader, node *scan.Node, d *gpu.Device) {
	if node.Memory > 0 {
		d.Memory.Limit = plausible.Bytes(node.Memory)
	}
	used, err := node.UsedMemory()
	if err != nil {
		r.refuse("memory", "mem_banks/0/used_memory", err)
		return
	}
	if used <= node.Memory {
		d.Memory.Usage = gpu.Some(int64(used))
	}
}

// readPartitionUtilization reads the activity of a partition: from its own table, which newer kernels have, else from the GPU's.
func readPartitionUtilization(r *reader, cfg Config, node *scan.Node, table *gpumetrics.Table, d *gpu.Device, i int) {
	var activity gpumetrics.PartitionActivity
	if i < len(table.Activity) {
		activity = table.Activity[i]
	}
	if node != nil && len(node.DRM) > 0 {
		const name = "xcp_metrics"
		dir := filepath.Join(cfg.Root, "sys/class/drm", node.DRM[0], "device/xcp")
		if text, ok := r.fileIn(dir, name, name); ok {
			own, err := cfg.Decoder.DecodePartition([]byte(text))
			if err != nil {
				r.problem(name, err)
			} else {
				activity.GFX, activity.JPEG = own.GFX.Or(activity.GFX), own.JPEG.Or(activity.JPEG)
				activity.Video = own.Video.Or(activity.Video)
			}
		}
	}
	if cfg.Want.Has(gpu.GroupUtilization) {
		d.Utilization[gpu.TaskGeneral] = activity.GFX
	}
	if cfg.Want.Has(gpu.GroupMediaUtilization) {
		d.Utilization[gpu.TaskJPEG], d.Utilization[gpu.TaskMedia] = activity.JPEG, activity.Video
	}
}
