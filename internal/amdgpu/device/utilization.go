// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func readUtilization(r *reader, want gpu.Group, table *gpumetrics.Table, d *gpu.Device) {
	if want.Has(gpu.GroupUtilization) {
		d.Utilization[gpu.TaskGeneral] = r.scaled("utilization", "gpu_busy_percent", percent, plausible.Fraction).Or(table.GFXActivity)
		d.MemoryController = r.scaled("memory controller utilization", "mem_busy_percent", percent, plausible.Fraction).
			Or(table.UMCActivity)
	}
	if want.Has(gpu.GroupMediaUtilization) {
		d.Utilization[gpu.TaskJPEG] = table.JPEG.Or(meanJPEG(table.Activity[:]))
	}
}

// meanJPEG returns the mean activity of the JPEG engines of all partitions. The table has that of the video engines too, but they
// encode and decode alike, and it does not say which.
func meanJPEG(partitions []gpumetrics.PartitionActivity) gpu.Opt[float64] {
	var sum, n float64
	for i := range partitions {
		if v, ok := partitions[i].JPEG.Get(); ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(sum / n)
}
