// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// eventsNeed is what a source reads for each event.
var eventsNeed = map[string]gpu.Group{
	"hw.gpu.xid":              gpu.GroupEvents,
	"hw.gpu.status":           gpu.GroupRemappedRows | gpu.GroupRecovery | gpu.GroupFabric | gpu.GroupECCMemory,
	"hw.gpu.source.failed":    0,
	"hw.gpu.source.recovered": 0,
	"hw.gpu.ras_error":        gpu.GroupECC,
	"hw.gpu.bad_pages":        gpu.GroupRemappedRows,
	"hw.gpu.reset":            0,
	"hw.gpu.ring_timeout":     0,
	"hw.gpu.pcie_error":       0,
	"hw.gpu.lost":             0,

	"process.gpu.started": gpu.GroupProcesses,
	"process.gpu.exited":  gpu.GroupProcesses | gpu.GroupProcessUtilization,

	"hw.gpu.throttled.started": gpu.GroupThrottle,
	"hw.gpu.throttled.ended":   gpu.GroupThrottle,

	"container.gpu.allocated": 0,
	"container.gpu.released":  0,
}

// attributedEventsNeed is what a source also reads if the use of devices is attributed.
var attributedEventsNeed = map[string]gpu.Group{
	"hw.gpu.xid": gpu.GroupProcesses, "hw.gpu.status": gpu.GroupProcesses, "hw.gpu.ras_error": gpu.GroupProcesses, "hw.gpu.bad_pages": gpu.GroupProcesses,
	"hw.gpu.reset":        gpu.GroupProcesses,
	"hw.gpu.ring_timeout": gpu.GroupProcesses, "hw.gpu.pcie_error": gpu.GroupProcesses, "hw.gpu.lost": gpu.GroupProcesses,
	"hw.gpu.throttled.started": gpu.GroupProcesses, "hw.gpu.throttled.ended": gpu.GroupProcesses,
	"container.gpu.released": gpu.GroupProcesses | gpu.GroupProcessUtilization | gpu.GroupUtilization | gpu.GroupMediaUtilization |
		gpu.GroupEnergy | gpu.GroupMemory,
}

// only returns configurations that enable only the given metric and event; empty names enable none.
func only(t *testing.T, metric, event string) (*metadata.MetricsConfig, *metadata.EventsConfig) {
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
	return &metrics, &events
}

func groupOf(t *testing.T, metric, event string, attributed bool) gpu.Group {
	t.Helper()
	metrics, events := only(t, metric, event)
	return Wanted(metrics, events, attributed)
}

func TestWanted(t *testing.T) {
	assert.Zero(t, groupOf(t, "", "", true), "nothing is enabled")
	for _, m := range metricTests {
		alone := groupOf(t, m.name, "", true)
		assert.Equal(t, m.needs, alone, "%s alone", m.name)
		want := m.needs
		if strings.HasPrefix(m.name, "container.") {
			want = 0 // there are no containers
		}
		assert.Equal(t, want, groupOf(t, m.name, "", false), "%s alone, nothing is attributed", m.name)
	}
	for event, groups := range eventsNeed {
		alone := groupOf(t, "", event, false)
		assert.Equal(t, groups, alone, "%s alone", event)
		attributed := groupOf(t, "", event, true)
		assert.Equal(t, groups|attributedEventsNeed[event], attributed, "%s alone, attributed", event)
	}
}

// A source reads a group for some metric or event, and does not read it if all of them are disabled.
func TestEachGroupCanBeDisabled(t *testing.T) {
	for group := gpu.Group(1); gpu.GroupAll.Has(group); group <<= 1 {
		metrics, events := metadata.DefaultMetricsConfig(), metadata.DefaultEventsConfig()
		enable(&metrics, true)
		enable(&events, true)
		assert.True(t, Wanted(&metrics, &events, true).Has(group), "group %b, everything is enabled", group)
		users := 0
		for _, m := range metricTests {
			if m.needs.Has(group) {
				users++
				enableOne(t, &metrics, m.name, false)
			}
		}
		for event, needs := range eventsNeed {
			if (needs | attributedEventsNeed[event]).Has(group) {
				enableOne(t, &events, event, false)
			}
		}
		assert.Positive(t, users, "no metric needs group %b", group)
		assert.False(t, Wanted(&metrics, &events, true).Has(group), "group %b, all that need it are disabled", group)
	}
}

func TestDisableProcesses(t *testing.T) {
	cfg := everything()
	DisableProcesses(&cfg.Metrics)
	assert.Empty(t, enabled(processMetrics(&cfg.Metrics)))
	assert.Len(t, enabled(deviceMetrics(&cfg.Metrics)), len(deviceMetrics(&cfg.Metrics)))
}
