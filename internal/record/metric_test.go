// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// use is what the use of a device by containers is worked out from.
var use = []string{"container.gpu.utilization", "container.gpu.power", "container.gpu.energy", "container.gpu.idle.time"}

// neededBy are the metrics for which a source has to read a group.
var neededBy = map[gpu.Group][]string{
	gpu.GroupUtilization:        append([]string{"hw.gpu.utilization", "hw.gpu.memory.controller.utilization"}, use...),
	gpu.GroupMediaUtilization:   {"hw.gpu.utilization", "container.gpu.utilization"},
	gpu.GroupMemory:             {"hw.gpu.memory.usage", "hw.gpu.memory.limit", "hw.gpu.memory.utilization", "hw.gpu.memory.reserved", "hw.gpu.memory.visible.limit", "hw.gpu.memory.visible.usage", "hw.gpu.memory.system.limit", "hw.gpu.memory.system.usage", "container.gpu.memory.usage", "container.gpu.memory.limit"},
	gpu.GroupProtectedMemory:    {"hw.gpu.memory.protected.usage"},
	gpu.GroupTemperature:        {"hw.temperature"},
	gpu.GroupTemperatureLimits:  {"hw.temperature.limit", "hw.gpu.temperature.margin"},
	gpu.GroupPower:              {"hw.power", "container.gpu.power"},
	gpu.GroupPowerDetail:        {"hw.gpu.power.instant", "hw.gpu.module.power"},
	gpu.GroupPowerLimit:         {"hw.power.limit"},
	gpu.GroupEnergy:             {"hw.energy", "container.gpu.energy"},
	gpu.GroupClocks:             {"hw.gpu.speed"},
	gpu.GroupClockLimits:        {"hw.gpu.speed.limit"},
	gpu.GroupThrottle:           {"hw.gpu.throttled"},
	gpu.GroupThrottleTime:       {"hw.gpu.throttle.time"},
	gpu.GroupPerformanceState:   {"hw.gpu.performance_state"},
	gpu.GroupFans:               {"hw.fan.speed_ratio"},
	gpu.GroupPCIeIO:             {"hw.gpu.io"},
	gpu.GroupPCIeLink:           {"hw.gpu.pcie.generation", "hw.gpu.pcie.generation.limit", "hw.gpu.pcie.width", "hw.gpu.pcie.width.limit"},
	gpu.GroupPCIeReplay:         {"hw.errors"},
	gpu.GroupInterconnect:       {"hw.gpu.interconnect.io"},
	gpu.GroupInterconnectErrors: {"hw.errors"},
	gpu.GroupInterconnectLinks:  {"hw.gpu.interconnect.link.io", "hw.gpu.interconnect.link.errors"},
	gpu.GroupECC:                {"hw.errors"},
	gpu.GroupECCLifetime:        {"hw.gpu.ecc.lifetime"},
	gpu.GroupRemappedRows:       {"hw.gpu.memory.rows.remapped", "hw.gpu.memory.pages.retired", "hw.gpu.memory.remap.state", "hw.status", "hw.gpu.fault"},
	gpu.GroupPipes:              {"hw.gpu.pipe.utilization", "hw.gpu.sm.occupancy"},
	gpu.GroupRecovery:           {"hw.gpu.recovery.action", "hw.status", "hw.gpu.fault"},
	gpu.GroupProcesses:          append([]string{"process.gpu.memory.usage", "process.gpu.utilization", "container.gpu.allocated", "container.gpu.memory.usage", "container.gpu.memory.limit"}, use...),
	gpu.GroupProcessUtilization: append([]string{"process.gpu.utilization"}, use...),
	gpu.GroupEvents:             {"hw.errors"},
}

// unread are the metrics that cost no reading: what is known anyhow, and what the kubelet tells.
var unread = []string{"hw.gpu.info", "hw.gpu.count", "hw.gpu.allocated"}

// eventsNeed are the groups that events need.
var eventsNeed = map[string]gpu.Group{
	"hw.gpu.xid":    gpu.GroupEvents,
	"hw.gpu.status": gpu.GroupRemappedRows | gpu.GroupRecovery,

	"process.gpu.started": gpu.GroupProcesses,
	"process.gpu.exited":  gpu.GroupProcesses,
}

// wanted is Wanted with nothing but one metric or event enabled.
func wanted(t *testing.T, metric, event string, attributed bool) gpu.Group {
	t.Helper()
	metrics, events := metadata.DefaultMetricsConfig(), metadata.DefaultEventsConfig()
	enable(&metrics, false)
	enable(&events, false)
	if metric != "" {
		enableOne(t, &metrics, metric, true)
	}
	if event != "" {
		enableOne(t, &events, event, true)
	}
	return Wanted(&metrics, &events, attributed)
}

func TestWanted(t *testing.T) {
	assert.Zero(t, wanted(t, "", "", true), "nothing enabled, nothing read")
	for _, metric := range metricNames() {
		if notOfANode(metric) {
			continue
		}
		var want gpu.Group
		for group, metrics := range neededBy {
			if slices.Contains(metrics, metric) {
				want |= group
			}
		}
		assert.Equal(t, slices.Contains(unread, metric), want == 0, "%s must be in one of the tables", metric)
		assert.Equal(t, want, wanted(t, metric, "", true), "%s alone", metric)
		if strings.HasPrefix(metric, "container.") {
			want = 0 // nobody fills them in
		}
		assert.Equal(t, want, wanted(t, metric, "", false), "%s alone, nothing attributed", metric)
	}
}

// Each group is there for something, and not wanted where all that needs it is switched off.
func TestEachGroupCanBeSwitchedOff(t *testing.T) {
	for group := gpu.Group(1); gpu.GroupAll.Has(group); group <<= 1 {
		metrics, events := metadata.DefaultMetricsConfig(), metadata.DefaultEventsConfig()
		enable(&metrics, true)
		enable(&events, true)
		assert.True(t, Wanted(&metrics, &events, true).Has(group), "group %b, everything enabled", group)
		assert.NotEmpty(t, neededBy[group], "group %b must be in the table", group)
		for _, metric := range neededBy[group] {
			enableOne(t, &metrics, metric, false)
		}
		for event, needs := range eventsNeed {
			if needs.Has(group) {
				enableOne(t, &events, event, false)
			}
		}
		assert.False(t, Wanted(&metrics, &events, true).Has(group), "group %b, what needs it switched off", group)
	}
}

// XIDs and states are news even where no metric counts them.
func TestEventsAreWanted(t *testing.T) {
	for event, groups := range eventsNeed {
		got := wanted(t, "", event, false)
		assert.Equal(t, groups, got, event)
	}
}
