// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// tableGroups are the quantities that no plain file has, or not on every GPU.
const tableGroups = gpu.GroupUtilization | gpu.GroupMediaUtilization | gpu.GroupTemperature | gpu.GroupPower |
	gpu.GroupEnergy | gpu.GroupClocks | gpu.GroupThrottle | gpu.GroupThrottleTime | gpu.GroupPCIeLink |
	gpu.GroupPCIeReplay | gpu.GroupInterconnect | gpu.GroupInterconnectLinks

// readTable reads the gpu_metrics table. It is empty where there is none.
func (g *GPU) readTable(r *reader) gpumetrics.Table {
	if !g.cfg.Want.Has(tableGroups) {
		return gpumetrics.Table{}
	}
	text, ok := r.file("gpu_metrics", metricsFile)
	if !ok {
		g.energy.counter.Doubt() // the driver refuses the table while it resets the GPU
		return gpumetrics.Table{}
	}
	table, err := g.cfg.Decoder.Decode([]byte(text))
	if err != nil {
		r.problem("gpu_metrics", fmt.Errorf("amdgpu: %s: %w", r.title, err))
	}
	return table
}
