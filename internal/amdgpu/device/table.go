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
	gpu.GroupPCIeReplay | gpu.GroupPCIeDetail | xgmiGroups | gpu.GroupXCCUtilization | gpu.GroupTemperatureDetail | gpu.GroupVoltage

// kindGroups are the quantities that mean something else on an APU.
const kindGroups = gpu.GroupProcesses | gpu.GroupPowerDetail | gpu.GroupPowerLimit

// readTable reads the gpu_metrics table if it is wanted, and reports whether the driver returned one. The table is empty if it could not be
// decoded. For kindGroups its revision is wanted, which identifies an APU: revision is the one of an earlier read.
func readTable(r *reader, cfg Config, revision gpumetrics.Revision) (gpumetrics.Table, bool) {
	kind := cfg.Want.Has(kindGroups) && revision == gpumetrics.Revision{}
	if !kind && !cfg.Want.Has(tableGroups) {
		return gpumetrics.Table{}, false
	}
	text, ok := r.file("gpu_metrics", metricsFile)
	if !ok {
		return gpumetrics.Table{}, false
	}
	table, err := cfg.Decoder.Decode([]byte(text))
	if err != nil {
		r.problem("gpu_metrics", fmt.Errorf("amdgpu: %s: %w", r.title, err))
	}
	return table, true
}
