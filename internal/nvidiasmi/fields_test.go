// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// allNames returns the newest spellings of all fields.
func allNames() (names []string) {
	for _, f := range parse.Fields() {
		names = append(names, f.Names[0])
	}
	return names
}

func everyName() map[string]bool {
	names := map[string]bool{}
	for _, field := range parse.Fields() {
		names[field.Names[0]] = true
	}
	return names
}

func TestTrapFieldsComeAndGo(t *testing.T) {
	old := []string{"clocks_throttle_reasons.sw_power_cap", "remapped_rows.sbe"}
	known := append(slices.DeleteFunc(allNames(), func(n string) bool {
		return strings.HasPrefix(n, "clocks_event_reasons") || strings.HasPrefix(n, "remapped_rows") || strings.HasPrefix(n, "module.")
	}), old...)
	f := tableTool(t, known)
	r := newReader(t, QueryFast, f, newClock())
	assert.Len(t, read(t, r).Devices, 2)
	require.Len(t, f.tables, 1, "a field that is not advertised was queried")
	assert.Subset(t, f.tables[0], old)
	assert.Subset(t, known, f.tables[0])

	// A new version has the fields under their new names: the help is queried again.
	renamed := tableTool(t, allNames())
	f.help = renamed.help
	f.table = func(fields []string) answer {
		a := renamed.table(fields)
		a.stdout = strings.ReplaceAll(a.stdout, "550.1", "560.2")
		return a
	}
	f.batches = nil
	read(t, r) // refused by name, and read without it
	read(t, r)
	read(t, r)
	helps := 0
	for _, b := range f.batches {
		if slices.Contains(b, "help") {
			helps++
		}
	}
	assert.Equal(t, 1, helps)
	assert.Contains(t, f.tables[len(f.tables)-1], "clocks_event_reasons.sw_power_cap")
}

func TestTrapUnknownFieldFailsTheCall(t *testing.T) {
	f := tableTool(t, allNames())
	table := f.table
	f.table = func(fields []string) answer {
		if slices.Contains(fields, "temperature.memory") {
			return answer{stdout: "Field \"temperature.memory\" is not a valid field to query.\n\n", exit: 2}
		}
		return table(fields)
	}
	r := newReader(t, QueryFast, f, newClock())
	node := read(t, r)
	assert.Len(t, node.Devices, 2)
	assert.Empty(t, problems(node))
	read(t, r)
	assert.Len(t, f.tables, 3, "the refused field was queried again")
}

// A refused field does not cost other fields.
func TestRefusedFieldIsLeftOutAlone(t *testing.T) {
	f := tableTool(t, allNames())
	table := f.table
	f.table = func(fields []string) answer {
		if slices.Contains(fields, "temperature.memory") {
			return answer{stdout: "Field \"temperature.memory\" is not a valid field to query.\n\n", exit: 2}
		}
		return table(fields)
	}
	read(t, newReader(t, QueryFast, f, newClock()))
	require.Len(t, f.tables, 2)
	assert.Equal(t, slices.DeleteFunc(f.tables[0], func(n string) bool { return n == "temperature.memory" }), f.tables[1])
}

func TestRefusedFieldsAreBounded(t *testing.T) {
	var basic []string
	for _, field := range parse.Fields() {
		if field.Basic {
			basic = append(basic, field.Names[len(field.Names)-1])
		}
	}
	f := tableTool(t, basic)
	var help strings.Builder
	for _, n := range allNames() {
		fmt.Fprintf(&help, "%q\n", n)
	}
	f.help = answer{stdout: help.String()} // it advertises what it does not take
	r := newReader(t, QueryFast, f, newClock())
	assert.Len(t, read(t, r).Devices, 2)
	assert.Len(t, f.tables, maxRefusedFields+2)
	assert.Equal(t, basic, f.tables[len(f.tables)-1])
	read(t, r)
	assert.Len(t, f.tables, maxRefusedFields+3, "the refusals are forgotten")
}

// The driver was replaced, and its version refuses so many fields that the basic ones are left: its help is queried all the same.
func TestManyRefusalsOfAnotherVersion(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	var spellings []string
	for _, field := range parse.Fields() {
		spellings = append(spellings, field.Names...)
	}
	other := tableTool(t, slices.DeleteFunc(spellings, func(n string) bool { return strings.HasPrefix(n, "clocks_event_reasons") }))
	f.help = other.help
	f.table = func(fields []string) answer {
		a := other.table(fields)
		a.stdout = strings.ReplaceAll(a.stdout, "550.1", "560.2")
		return a
	}
	read(t, r)
	assert.NotContains(t, f.tables[len(f.tables)-1], "temperature.memory")
	read(t, r)
	assert.Contains(t, f.tables[len(f.tables)-1], "temperature.memory")
}

func TestToolWithoutFieldSelection(t *testing.T) {
	for name, said := range map[string]string{
		"fields":      "Field \"index\" is not a valid field to query.\n",
		"other field": "Field \"whatever\" is not a valid field to query.\n",
		"switch":      "Option --query-gpu=index is not recognized. Please run 'nvidia-smi -h'.\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			f.help = answer{stdout: said, exit: 2}
			f.table = func([]string) answer { return answer{stdout: said, exit: 2} }
			r := newReader(t, QueryFast, f, newClock())
			assert.Equal(t, []string{h100First, h100Second}, ids(read(t, r)))
			assert.LessOrEqual(t, len(f.tables), 2*(maxRefusedFields+1))
			n := len(f.tables)
			f.batches = nil
			node := read(t, r)
			assert.Empty(t, problems(node))
			assert.Equal(t, [][]string{{"xml", "pmon"}}, f.batches)
			assert.Len(t, f.tables, n)

			f.xml.stdout = strings.Replace(f.xml.stdout, "580.95.05", "581.01", 1)
			good := tableTool(t, allNames())
			f.help, f.table, f.apps = good.help, good.table, good.apps
			read(t, r)
			assert.Contains(t, ids(read(t, r)), "GPU-a", "another version is not queried again")
		})
	}
}

// Each group has its own columns in addition to the columns of the identity.
func TestColumnsOfEachGroup(t *testing.T) {
	always := chooseFields(0, everyName()).names
	assert.Equal(t, []string{
		"index", "uuid", "pci.bus_id", "serial", "driver_version", "kmd_version", "count", "vbios_version", "compute_cap", "mig.mode.current",
		"inforom.img", "c2c.mode", "name",
	}, always)
	for group, want := range map[gpu.Group][]string{
		gpu.GroupUtilization:       {"utilization.gpu", "utilization.memory"},
		gpu.GroupMediaUtilization:  {"utilization.encoder", "utilization.decoder", "utilization.jpeg", "utilization.ofa"},
		gpu.GroupMemory:            {"memory.total", "memory.used", "memory.reserved"},
		gpu.GroupProtectedMemory:   {"protected_memory.used", "protected_memory.total"},
		gpu.GroupTemperature:       {"temperature.gpu", "temperature.memory"},
		gpu.GroupTemperatureLimits: {"temperature.gpu.tlimit"},
		gpu.GroupPower:             {"power.draw", "power.draw.average", "power.draw.instant"},
		gpu.GroupPowerDetail:       {"power.draw.instant", "module.power.draw.average", "module.power.draw.instant"},
		gpu.GroupPowerLimit:        {"enforced.power.limit", "power.limit", "power.max_limit", "power.min_limit", "power.default_limit"},
		gpu.GroupFans:              {"fan.speed"},
		gpu.GroupPerformanceState:  {"pstate"},
		gpu.GroupClocks:            {"clocks.current.graphics", "clocks.current.sm", "clocks.current.memory", "clocks.current.video"},
		gpu.GroupClockLimits:       {"clocks.max.graphics", "clocks.max.sm", "clocks.max.memory"},
		gpu.GroupThrottle: {
			"clocks_event_reasons.sw_power_cap", "clocks_event_reasons.hw_slowdown", "clocks_event_reasons.sync_boost",
			"clocks_event_reasons.sw_thermal_slowdown", "clocks_event_reasons.hw_thermal_slowdown", "clocks_event_reasons.hw_power_brake_slowdown",
		},
		gpu.GroupThrottleTime: {
			"clocks_event_reasons_counters.sw_power_cap", "clocks_event_reasons_counters.sync_boost",
			"clocks_event_reasons_counters.sw_thermal_slowdown", "clocks_event_reasons_counters.hw_thermal_slowdown",
			"clocks_event_reasons_counters.hw_power_brake_slowdown",
		},
		gpu.GroupPCIeLink:    {"pcie.link.gen.current", "pcie.link.gen.max", "pcie.link.width.current", "pcie.link.width.max"},
		gpu.GroupECC:         {"ecc.mode.current", "ecc.errors.corrected.volatile.total", "ecc.errors.uncorrected.volatile.total"},
		gpu.GroupECCLifetime: {"ecc.mode.current", "ecc.errors.corrected.aggregate.total", "ecc.errors.uncorrected.aggregate.total"},
		gpu.GroupRemappedRows: {
			"retired_pages.single_bit_ecc.count", "retired_pages.double_bit.count", "retired_pages.pending", "remapped_rows.correctable",
			"remapped_rows.uncorrectable", "remapped_rows.pending", "remapped_rows.failure",
		},
		gpu.GroupECCMemory: {
			"ecc.mode.current", "ecc.errors.corrected.volatile.sram", "ecc.errors.corrected.volatile.dram", "ecc.errors.uncorrected.volatile.sram",
			"ecc.errors.uncorrected.volatile.dram", "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",
		},
		gpu.GroupECCLocations: {
			"ecc.mode.current", "ecc.errors.corrected.aggregate.dram", "ecc.errors.uncorrected.aggregate.dram",
			"ecc.errors.uncorrected.aggregate.sram.l2", "ecc.errors.uncorrected.aggregate.sram.sm", "ecc.errors.uncorrected.aggregate.sram.mcu",
			"ecc.errors.uncorrected.aggregate.sram.pcie", "ecc.errors.uncorrected.aggregate.sram.other",
		},
		gpu.GroupMemoryBanks: {
			"remapped_rows.histogram.max", "remapped_rows.histogram.high", "remapped_rows.histogram.partial", "remapped_rows.histogram.low",
			"remapped_rows.histogram.none",
		},
		gpu.GroupFabric: {
			"fabric.state", "fabric.status", "fabric.cliqueId", "fabric.clusterUuid", "fabric.health.summary", "fabric.health.bandwidth",
			"fabric.health.route_recovery_in_progress", "fabric.health.route_unhealthy", "fabric.health.access_timeout_recovery",
			"fabric.health.incorrect_configuration",
		},
		gpu.GroupModes:           {"persistence_mode", "compute_mode", "ecc.mode.current", "gsp.mode.current"},
		gpu.GroupPendingModes:    {"ecc.mode.current", "ecc.mode.pending", "mig.mode.pending"},
		gpu.GroupEncoderSessions: {"encoder.stats.sessionCount", "encoder.stats.averageFps", "encoder.stats.averageLatency"},
		gpu.GroupBAR1:            nil,
		gpu.GroupRecovery:        {"gpu_recovery_action"},
		gpu.GroupProcesses:       nil,
	} {
		got := slices.DeleteFunc(chooseFields(group, everyName()).names, func(name string) bool { return slices.Contains(always, name) })
		assert.ElementsMatch(t, want, got, "group %b", group)
	}
}

func TestEveryArgumentIsAConstant(t *testing.T) {
	for name, advertised := range map[string]map[string]bool{
		"hostile": {"index": true, "uuid; rm -rf /": true, "--gpu-reset": true, "temperature.gpu": true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, []string{"index", "temperature.gpu"}, chooseFields(gpu.GroupAll, advertised).names)
		})
	}
}
