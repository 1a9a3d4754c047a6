// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func TestWantedAlone(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.MI100(), gpu.GroupMemory)
	read(t, source) // the identities
	read(t, source) // and again what did not exist
	var touched readNames
	source.readFile = touched.read
	node := read(t, source)
	d := &node.Devices[0]
	assert.True(t, d.Memory.Usage.Known())
	assert.True(t, d.ProcessesUnread)
	assert.NotEmpty(t, touched.names)
	for _, name := range touched.names {
		if !strings.HasSuffix(name, "_partition") { // is it divided?
			assert.Contains(t, name, "mem_info_", "nothing else is read")
		}
	}
}

// TestSwitchedOff: files of quantities that are not wanted are not read, for each quantity alone.
func TestSwitchedOff(t *testing.T) {
	tables := []string{"gpu_metrics"}
	for group, files := range map[gpu.Group][]string{
		gpu.GroupUtilization:       {"gpu_busy_percent", "mem_busy_percent", "gpu_metrics"},
		gpu.GroupMediaUtilization:  {"vcn_busy_percent", "gpu_metrics"},
		gpu.GroupXCCUtilization:    tables,
		gpu.GroupMemory:            {"mem_info_*"},
		gpu.GroupTemperature:       {"hwmon/*/temp*_input", "gpu_metrics"},
		gpu.GroupTemperatureLimits: {"hwmon/*/temp*_crit", "hwmon/*/temp*_emergency"},
		gpu.GroupPower:             {"hwmon/*/power1_average", "gpu_metrics"},
		gpu.GroupPowerDetail:       {"hwmon/*/power1_input", "gpu_metrics"},
		gpu.GroupPowerLimit:        {"hwmon/*/power1_cap", "hwmon/*/power1_cap_*", "gpu_metrics"}, // is it an APU?
		gpu.GroupEnergy:            {"hwmon/*/energy1_input", "hwmon/*/power1_cap_max", "gpu_metrics"},
		gpu.GroupClocks:            {"hwmon/*/freq*_input", "pp_dpm_vclk", "gpu_metrics"},
		gpu.GroupClockLimits:       {"pp_dpm_*clk"},
		gpu.GroupThrottle:          tables,
		gpu.GroupThrottleTime:      tables,
		gpu.GroupFans:              {"hwmon/*/pwm1", "hwmon/*/pwm1_max", "hwmon/*/fan1_*"},
		gpu.GroupFanSpeed:          {"hwmon/*/fan1_input"},
		gpu.GroupVoltage:           {"hwmon/*/in*_input", "gpu_metrics"},
		gpu.GroupTemperatureDetail: tables,
		gpu.GroupPCIeDetail:        tables,
		gpu.GroupPCIeLink:          {"current_link_*", "max_link_*", "gpu_metrics"},
		gpu.GroupPCIeReplay:        {"pcie_replay_count", "gpu_metrics"},
		gpu.GroupInterconnect:      tables,
		gpu.GroupInterconnectLinks: tables,
		gpu.GroupInterconnectState: tables,
		gpu.GroupInterconnectSpeed: tables,
		gpu.GroupECC:               {"ras/*"},
		gpu.GroupProcesses:         tables, // once: is it an APU?
		gpu.GroupProcessTimes:      nil,
		gpu.GroupEvents:            nil,
	} {
		_, source, _ := simulate(t, amdgpusim.MI100(), group)
		var touched readNames
		source.readFile = touched.read
		read(t, source)
		for _, name := range touched.names {
			if strings.HasSuffix(name, "_link_speed") || strings.HasSuffix(name, "_link_width") {
				name = filepath.Base(name) // of the switch
			}
			ok := slices.ContainsFunc(append(files, "unique_id", "serial_number", "vbios_version", "numa_node", "product_name",
				"product_number", "device", "revision", "current_compute_partition", "current_memory_partition"), func(pattern string) bool {
				match, err := filepath.Match(pattern, name)
				return err == nil && match
			})
			assert.True(t, ok, "group %b reads %s", group, name)
		}
	}
}

func TestModels(t *testing.T) {
	m := amdgpusim.Radeon()
	tree, source, _ := simulate(t, m, withoutProcesses)
	require.NoError(t, os.MkdirAll(tree.Path("usr/share/libdrm"), 0o750))
	require.NoError(t, os.WriteFile(tree.Path("usr/share/libdrm/amdgpu.ids"), []byte(
		"# ids\n1.0.0\n744C,\tC9,\tAnother\n744c,\tc8,\tA Radeon of the test\n"), 0o600))
	assert.Equal(t, "A Radeon of the test", read(t, source).Devices[0].Model)
	_, source, _ = simulate(t, amdgpusim.MI100(), withoutProcesses)
	assert.Equal(t, "AMD Instinct MI100", read(t, source).Devices[0].Model, "by its PCI id")
}
