// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Each group has its own options. Those that identify devices are always there.
func TestOptionsOfEachGroup(t *testing.T) {
	t.Parallel()
	type options struct{ json, text []string }
	always := []string{
		"--showuniqueid", "--showbus", "--showproductname", "--showserial", "--showvbios", "--showdriverversion",
		"--showtoponuma", "--showcomputepartition", "--showmemorypartition",
	}
	for group, want := range map[gpu.Group]options{
		gpu.GroupUtilization:       {json: []string{"--showuse", "--showmemuse"}},
		gpu.GroupMediaUtilization:  {},
		gpu.GroupMemory:            {json: []string{"--showmeminfo", "vram", "vis_vram", "gtt"}},
		gpu.GroupPower:             {json: []string{"--showpower"}},
		gpu.GroupPowerDetail:       {json: []string{"--showpower"}},
		gpu.GroupPowerLimit:        {json: []string{"--showmaxpower"}},
		gpu.GroupTemperature:       {json: []string{"--showtemp"}},
		gpu.GroupClocks:            {json: []string{"--showclocks"}},
		gpu.GroupClockLimits:       {},
		gpu.GroupPCIeLink:          {json: []string{"--showclocks"}},
		gpu.GroupPCIeReplay:        {json: []string{"--showreplaycount"}},
		gpu.GroupFans:              {json: []string{"--showfan"}},
		gpu.GroupFanSpeed:          {json: []string{"--showfan"}},
		gpu.GroupVoltage:           {json: []string{"--showvoltage"}},
		gpu.GroupTemperatureDetail: {json: []string{"--showtemp"}},
		gpu.GroupEnergy:            {json: []string{"--showpower", "--showmaxpower", "--showenergycounter"}},
		gpu.GroupECC:               {text: []string{"--showrasinfo", "all"}},
		gpu.GroupThrottle:          {},
		gpu.GroupThrottleTime:      {},
		gpu.GroupProcesses:         {json: []string{"--showpids"}, text: []string{"--showpidgpus", "--showpids"}},
	} {
		assert.ElementsMatch(t, append(want.json, always...), arguments(jsonOptions, group, nil), "group %b", group)
		assert.Equal(t, want.text, arguments(textOptions, group, nil), "text, group %b", group)
	}
}

// The power limit shows how fast an energy counter may wrap.
func TestAsksForCapWithEnergy(t *testing.T) {
	t.Parallel()
	tool := twoGPUs()
	smitest.Read(t, New(&Config{}, tool, gpu.GroupEnergy))
	assert.Contains(t, tool.Runs[0][0], "--showmaxpower")
}
