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
		gpu.GroupUtilization:       {"-u"},
		gpu.GroupMediaUtilization:  {"-u"},
		gpu.GroupXCCUtilization:    {"-u"},
		gpu.GroupVoltage:           {"-p"},
		gpu.GroupTemperatureDetail: {"-t"},
		gpu.GroupFanSpeed:          {"-f"},
		gpu.GroupPCIeDetail:        nil,
		gpu.GroupRemappedRows:      nil,
		gpu.GroupMemory:            {"-m"},
		gpu.GroupPower:             {"-p"},
		gpu.GroupPowerDetail:       {"-p"},
		gpu.GroupPowerLimit:        nil,
		gpu.GroupTemperature:       {"-t"},
		gpu.GroupClocks:            {"-c"},
		gpu.GroupClockLimits:       {"-c"},
		gpu.GroupPCIeLink:          nil,
		gpu.GroupPCIeReplay:        nil,
		gpu.GroupFans:              {"-f"},
		gpu.GroupEnergy:            {"-p", "-E"},
		gpu.GroupECC:               {"-k", "-e"},
		gpu.GroupThrottle:          {"-p", "--throttle"},
		gpu.GroupThrottleTime:      {"--throttle"},
		gpu.GroupProcesses:         nil,
	} {
		if want != nil {
			want = append([]string{"metric"}, want...)
		}
		assert.Equal(t, want, arguments(stepMetric, group, nil), "group %b", group)
	}
}

// The other steps are run only if their values are wanted.
func TestStepsOfEachGroup(t *testing.T) {
	t.Parallel()
	without := map[string]bool{linkStatus: true}
	for _, tt := range []struct {
		step    step
		want    gpu.Group
		refused map[string]bool
		args    []string
	}{
		{stepXGMI, gpu.GroupPower, nil, nil},
		{stepXGMI, gpu.GroupInterconnect, nil, []string{"xgmi", "-m"}},
		{stepXGMI, gpu.GroupInterconnectLinks, nil, []string{"xgmi", "-m"}},
		{stepXGMI, gpu.GroupInterconnectSpeed, nil, []string{"xgmi", "-m"}},
		{stepXGMI, gpu.GroupInterconnectState, nil, []string{"xgmi", "-l"}},
		{stepXGMI, gpu.GroupInterconnect | gpu.GroupInterconnectState, nil, []string{"xgmi", "-m", "-l"}},
		{stepXGMI, gpu.GroupInterconnect | gpu.GroupInterconnectState, without, []string{"xgmi", "-m"}},
		{stepXGMI, gpu.GroupInterconnectState, without, nil},
		{stepPCIe, gpu.GroupPCIeLink, nil, []string{"metric", "-P"}},
		{stepPCIe, gpu.GroupPCIeReplay, nil, []string{"metric", "-P"}},
		{stepPCIe, gpu.GroupPCIeDetail, nil, []string{"metric", "-P"}},
		{stepPCIe, gpu.GroupPCIeErrors, nil, nil},
		{stepBadPages, gpu.GroupRemappedRows, nil, []string{"bad-pages"}},
		{stepBadPages, gpu.GroupECC, nil, nil},
	} {
		assert.Equal(t, tt.args, arguments(tt.step, tt.want, tt.refused), "%s, group %b", tt.step, tt.want)
	}
}
