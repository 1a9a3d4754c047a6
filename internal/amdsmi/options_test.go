// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Each group has its own options.
func TestOptionsOfEachGroup(t *testing.T) {
	t.Parallel()
	for group, want := range map[gpu.Group][]string{
		gpu.GroupUtilization:      {"-u"},
		gpu.GroupMediaUtilization: {"-u"},
		gpu.GroupMemory:           {"-m"},
		gpu.GroupPower:            {"-p"},
		gpu.GroupPowerDetail:      {"-p"},
		gpu.GroupPowerLimit:       nil,
		gpu.GroupTemperature:      {"-t"},
		gpu.GroupClocks:           {"-c"},
		gpu.GroupClockLimits:      {"-c"},
		gpu.GroupPCIeLink:         nil,
		gpu.GroupPCIeReplay:       nil,
		gpu.GroupFans:             {"-f"},
		gpu.GroupEnergy:           {"-E"},
		gpu.GroupECC:              {"-k", "-e"},
		gpu.GroupThrottle:         {"--throttle"},
		gpu.GroupThrottleTime:     {"--throttle"},
		gpu.GroupProcesses:        nil,
	} {
		if want != nil {
			want = append([]string{"metric"}, want...)
		}
		assert.Equal(t, want, arguments(stepMetric, group, nil), "group %b", group)
	}
}
