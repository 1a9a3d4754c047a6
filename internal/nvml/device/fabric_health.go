// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"math"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fabricFlags are the conditions of NVML_GPU_FABRIC_HEALTH_MASK_* that take two bits from a place on: 0 not supported, 1 true, 2 false.
var fabricFlags = [...]struct {
	condition gpu.FabricCondition
	shift     uint32
}{
	{gpu.FabricDegradedBandwidth, 0},
	{gpu.FabricRouteRecovery, 2},
	{gpu.FabricRouteUnhealthy, 4},
	{gpu.FabricAccessTimeoutRecovery, 6},
}

// fabricConditions decodes the health mask, and the summary that drivers have since 570. The incorrect configuration takes four bits from the
// eighth on: 0 not supported, 1 none, more a kind of it.
func fabricConditions(mask uint32, summary uint8) (c [gpu.NumFabricConditions]gpu.Opt[bool]) {
	if mask == math.MaxUint32 {
		mask = 0
	}
	for _, f := range fabricFlags {
		v := mask >> f.shift & 3
		c[f.condition] = known(v == 1, v == 1 || v == 2)
	}
	configuration := mask >> 8 & 0xf
	c[gpu.FabricIncorrectConfiguration] = known(configuration > 1, configuration > 0)
	if summary >= 1 && summary <= 3 { // healthy, unhealthy, limited capacity
		c[gpu.FabricUnhealthy] = gpu.Some(summary == 2)
		c[gpu.FabricLimitedCapacity] = gpu.Some(summary == 3)
	}
	return c
}
