// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// An impossible number is reported like a text in the place of a number, and never sent.
func TestTrapImpossibleNumbers(t *testing.T) {
	for name, printed := range map[string]string{
		"<utilization><gpu_util>%</gpu_util></utilization>":                             "101 %",
		"<utilization><encoder_util>%</encoder_util></utilization>":                     "255 %",
		"<utilization><memory_util>%</memory_util></utilization>":                       "-2 %",
		"<temperature><gpu_temp>%</gpu_temp></temperature>":                             "65535 C",
		"<temperature><memory_temp>%</memory_temp></temperature>":                       "-200 C",
		"<temperature><gpu_temp_max_threshold>%</gpu_temp_max_threshold></temperature>": "65535 C",
		"<clocks><mem_clock>%</mem_clock></clocks>":                                     "4294967 MHz",
		"<fan_speed>%</fan_speed>":                                                      "-2 %",
	} {
		t.Run(name, func(t *testing.T) {
			before, after, _ := strings.Cut(name, "%")
			g := oneGPU(t, before+printed+after)
			require.Len(t, g.Refusals, 1)
			assert.Equal(t, printed, g.Refusals[0].Reason)
			g.Device.ID, g.Device.Info = "", gpu.Info{}
			assert.Equal(t, gpu.Device{Vendor: gpu.NVIDIA}, g.Device)
		})
	}
	m, err := Pmon([]byte("# gpu pid type sm mem enc dec fb command\n0 7 C 101 3 255 100 20 x\n"))
	require.NoError(t, err)
	require.Len(t, m.Processes, 1)
	assert.Equal(t, [gpu.NumTasks]gpu.Opt[float64]{gpu.TaskDecoder: gpu.Some(1.0)}, m.Processes[0].Utilization)
}

// GPUs without such a threshold, and links that are down, print 0.
func TestTrapZeroIsAbsent(t *testing.T) {
	g := oneGPU(t, "<temperature><gpu_temp>0 C</gpu_temp><gpu_temp_tlimit>0 C</gpu_temp_tlimit><gpu_temp_max_gpu_tlimit_threshold>0 C</gpu_temp_max_gpu_tlimit_threshold>"+
		"<gpu_temp_max_threshold>0 C</gpu_temp_max_threshold>"+
		"<gpu_temp_slow_threshold>0 C</gpu_temp_slow_threshold><gpu_temp_max_gpu_threshold>0 C</gpu_temp_max_gpu_threshold>"+
		"<gpu_temp_max_mem_threshold>0 C</gpu_temp_max_mem_threshold></temperature>"+
		"<pci><pci_gpu_link_info><pcie_gen><max_link_gen>0</max_link_gen><current_link_gen>0</current_link_gen></pcie_gen>"+
		"<link_widths><max_link_width>0x</max_link_width><current_link_width>0x</current_link_width></link_widths></pci_gpu_link_info></pci>")
	assert.Empty(t, g.Refusals)
	assert.Equal(t, [gpu.NumSensors][gpu.NumLimits]gpu.Opt[float64]{}, g.Device.TemperatureLimit)
	assert.Equal(t, gpu.PCIe{}, g.Device.PCIe)
	assert.Equal(t, gpu.Some(0.0), g.Device.Temperature[gpu.SensorGPU], "it may be cold")
	assert.Equal(t, gpu.Some(0.0), g.Device.TemperatureMargin[gpu.LimitMax], "no degrees are left")
	g = oneGPU(t, "<gpu_power_readings><power_draw>0.00 W</power_draw><current_power_limit>0.00 W</current_power_limit>"+
		"<requested_power_limit>0.00 W</requested_power_limit></gpu_power_readings>")
	assert.Equal(t, gpu.Power{Draw: gpu.Some(0.0)}, g.Device.Power, "no GPU runs within no watts")
	g = oneRow(t, "index, uuid, power.draw [W], power.limit [W], enforced.power.limit [W]", "0, GPU-1, 0.00 W, 0.00 W, 0.00 W")
	assert.Equal(t, gpu.Power{Draw: gpu.Some(0.0)}, g.Device.Power)
	g = oneRow(t, "index, uuid, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max", "0, GPU-1, 0, 0, 0, 0")
	assert.Equal(t, gpu.PCIe{}, g.Device.PCIe)
}

// If the driver returns no limit, nvidia-smi 535 prints uninitialised memory.
func TestTrapImpossiblePower(t *testing.T) {
	g := oneRow(t, "index, power.draw [W], enforced.power.limit [W], power.limit [W]", "0, 300.00 W, 527699.31 W, 1631640.88 W")
	assert.Equal(t, gpu.Some(300.0), g.Device.Power.Draw)
	assert.False(t, g.Device.Power.Limit[gpu.LimitEnforced].Known())
	assert.Equal(t, []Refusal{
		{Quantity: "enforced.power.limit", Reason: "527699.31 W"}, {Quantity: "power.limit", Reason: "1631640.88 W"},
	}, g.Refusals)
}

func TestTrapThrottleCountersAreMicroseconds(t *testing.T) {
	for _, name := range []string{"sw_therm_slowdown", "sw_thermal_slowdown"} {
		g := oneGPU(t, "<clocks_event_reasons_counters><clocks_event_reasons_counters_"+name+">7015662857 us</clocks_event_reasons_counters_"+
			name+"></clocks_event_reasons_counters>")
		seconds, ok := g.Device.Throttle[gpu.ThrottleSWThermal].Time.Get()
		assert.True(t, ok, name)
		assert.InDelta(t, 7015.662857, seconds, 1e-9)
	}
}

func TestTrapThermalMarginIsNoTemperature(t *testing.T) {
	g := oneGPU(t, `<temperature><gpu_temp>36 C</gpu_temp><gpu_temp_tlimit>54 C</gpu_temp_tlimit>
<gpu_temp_max_tlimit_threshold>-5 C</gpu_temp_max_tlimit_threshold><gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
<gpu_temp_max_gpu_tlimit_threshold>5 C</gpu_temp_max_gpu_tlimit_threshold><gpu_temp_max_mem_tlimit_threshold>0 C</gpu_temp_max_mem_tlimit_threshold>
<gpu_target_temperature>85 C</gpu_target_temperature></temperature>`)
	assert.Equal(t, gpu.Some(49.0), g.Device.TemperatureMargin[gpu.LimitMax], "the GPU is at its max operating temperature when 54 have fallen to 5")
	assert.Equal(t, gpu.Some(56.0), g.Device.TemperatureMargin[gpu.LimitDegraded], "the GPU slows down when 54 have fallen to -2")
	assert.Equal(t, [gpu.NumSensors][gpu.NumLimits]gpu.Opt[float64]{}, g.Device.TemperatureLimit)
	assert.Equal(t, gpu.Some(59.0), g.Device.TemperatureMargin[gpu.LimitCritical], "the GPU shuts down when 54 have fallen to -5")

	g = oneGPU(t, `<temperature><gpu_temp_tlimit>N/A</gpu_temp_tlimit><gpu_temp_max_tlimit_threshold>-7 C</gpu_temp_max_tlimit_threshold></temperature>`)
	assert.Equal(t, [gpu.NumLimits]gpu.Opt[float64]{}, g.Device.TemperatureMargin, "a point on the scale is not what is left")

	g = oneGPU(t, `<temperature><gpu_temp_tlimit>54 C</gpu_temp_tlimit></temperature>`)
	assert.Equal(t, [gpu.NumLimits]gpu.Opt[float64]{}, g.Device.TemperatureMargin, "T.Limit alone names no limit")
}

// The tool has a word for what it does not know.
func TestArchitectureAndBrand(t *testing.T) {
	for printed, want := range map[string]string{"Ada Lovelace": "ada", "Hopper": "hopper", "Unknown": "", "N/A": ""} {
		g := oneGPU(t, "<product_architecture>"+printed+"</product_architecture><product_brand>"+printed+"</product_brand>")
		assert.Equal(t, want, g.Device.Info.Architecture)
		assert.Equal(t, printed == "Unknown" || printed == "N/A", g.Device.Info.Brand == "", printed)
	}
}
