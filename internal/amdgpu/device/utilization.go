// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readUtilization reads what the engines do. device is the PCI device id.
func readUtilization(r *reader, want gpu.Group, table *gpumetrics.Table, device gpu.Opt[uint64], d *gpu.Device) {
	if want.Has(gpu.GroupUtilization) {
		d.Utilization[gpu.TaskGeneral] = r.scaled("utilization", "gpu_busy_percent", percent, plausible.Fraction).Or(table.GFXActivity)
		d.MemoryController = r.scaled("memory controller utilization", "mem_busy_percent", percent, plausible.Fraction).
			Or(table.UMCActivity)
	}
	if want.Has(gpu.GroupMediaUtilization) {
		partitions := table.Activity[:]
		d.Utilization[gpu.TaskJPEG] = table.JPEG.Or(meanActivity(partitions, func(p *gpumetrics.PartitionActivity) gpu.Opt[float64] { return p.JPEG }))
		video := table.Video.Or(meanActivity(partitions, func(p *gpumetrics.PartitionActivity) gpu.Opt[float64] { return p.Video }))
		if isMI200(device) {
			video = gpu.Opt[float64]{}
		}
		d.Utilization[gpu.TaskMedia] = r.scaled("video utilization", "vcn_busy_percent", percent, plausible.Fraction).Or(video)
	}
	if want.Has(gpu.GroupXCCUtilization) {
		for i := range table.XCCs {
			d.XCCUtilization = append(d.XCCUtilization, table.XCCs[i].Busy)
		}
	}
}

// isMI200 reports whether the GPU is an MI200, whose firmware does not report what the video engines do: the driver writes 0.
func isMI200(device gpu.Opt[uint64]) bool {
	id, _ := device.Get()
	return id == 0x7408 || id == 0x740c || id == 0x740f || id == 0x7410
}

// meanActivity returns the mean activity of the engines of all partitions.
func meanActivity(
	partitions []gpumetrics.PartitionActivity, activity func(*gpumetrics.PartitionActivity) gpu.Opt[float64],
) gpu.Opt[float64] {
	var sum, n float64
	for i := range partitions {
		if v, ok := activity(&partitions[i]).Get(); ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(sum / n)
}
