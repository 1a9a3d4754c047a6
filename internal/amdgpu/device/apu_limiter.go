// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var apuReasons = [gpumetrics.NumAPULimiters]gpu.ThrottleReason{
	gpumetrics.LimiterProchot:     gpu.ThrottleThermalExtern,
	gpumetrics.LimiterSPL:         gpu.ThrottlePowerPPT,
	gpumetrics.LimiterFPPT:        gpu.ThrottlePowerPPT,
	gpumetrics.LimiterSPPT:        gpu.ThrottlePowerPPT,
	gpumetrics.LimiterThermalCore: gpu.ThrottleThermalGPU,
	gpumetrics.LimiterThermalGFX:  gpu.ThrottleThermalGPU,
	gpumetrics.LimiterThermalSoC:  gpu.ThrottleThermalGPU,
}

// apuLimiters follows the counts of the limiters of an APU. How long a limiter was active they do not say: the pace is not documented, and
// the table does not have the count of all looks.
type apuLimiters struct {
	last [gpumetrics.NumAPULimiters]gpu.Opt[uint64]
}

// read sets the limiters that were active since the last read: the ones whose count has risen. The counts have 32 bits and wrap.
func (a *apuLimiters) read(d *gpu.Device, table *gpumetrics.Table) {
	for i, count := range table.LimiterCounts {
		n, ok := count.Get()
		before, hasBefore := a.last[i].Get()
		a.last[i] = count
		risen := uint32(n) - uint32(before)
		if !ok || !hasBefore || risen > 1<<31 { // the last: counting has started again
			continue
		}
		throttle := &d.Throttle[apuReasons[i]]
		active, _ := throttle.Active.Get()
		throttle.Active = gpu.Some(active || risen > 0)
	}
}
