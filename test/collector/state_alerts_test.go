// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stateAlerts are the alerts on the states of a GPU. In TestStateAlerts GPU 0 has the first state, GPU 1 the second, and so on.
var stateAlerts = []struct {
	alert    string
	scenario string      // the state
	states   []sentState // 1 while it lasts, then 0
}{
	{"GPUFailed", "[fault f]\ngpu = 0\nkind = lost", []sentState{
		{"hw.gpu.fault", "error.type", "lost"},
		{"hw.status", "hw.state", "failed"},
	}},
	{"GPUFault", "[gpu 1]\nrecovery_action = 4", []sentState{
		{"hw.gpu.fault", "error.type", "drain"},
		{"hw.gpu.recovery.action", "hw.gpu.recovery.action", "drain_and_reset"},
	}},
	{"GPURowRemapPending", "[gpu 2]\nremapped.pending = 1", []sentState{
		{"hw.gpu.fault", "error.type", "remap_pending"},
		{"hw.gpu.memory.remap.state", "hw.gpu.remap.state", "pending"},
	}},
	{"GPURowRemapFailed", "[gpu 3]\nremapped.failure = 1", []sentState{
		{"hw.gpu.fault", "error.type", "remap_failed"},
		{"hw.gpu.memory.remap.state", "hw.gpu.remap.state", "failed"},
	}},
	{"GPUThrottled", "[gpu 4]\nreasons = 0x40", []sentState{
		{"hw.gpu.throttled", "hw.gpu.throttle.reason", "hw_thermal_slowdown"},
	}},
	{"GPUSRAMThresholdExceeded", "[gpu 5]\nsram.threshold_exceeded = 1", []sentState{
		{"hw.gpu.fault", "error.type", "sram_threshold"},
		{"hw.status", "hw.state", "predicted_failure"},
	}},
	{"GPUFabricUnhealthy", "[gpu 6]\nfabric.health = 0x1", []sentState{ // NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE
		{"hw.gpu.fault", "error.type", "fabric"},
		{"hw.gpu.fabric.condition", "hw.gpu.fabric.condition", "degraded_bandwidth"},
	}},
	{"GPUBankWithoutSpares", "[gpu 7]\nremapped.banks.none = 1", []sentState{
		{"hw.gpu.memory.bank.count", "hw.gpu.memory.bank.spares", "none"},
	}},
	{"GPUFabricNotReady", "[gpu 8]\nfabric.state = 2\nfabric.status = 3", []sentState{
		{"hw.gpu.fabric.state", "hw.gpu.fabric.state", "in_progress"},
	}},
}

// sentState is a point that is 1 while a state lasts.
type sentState struct{ metric, attribute, value string }

// query selects the series of the state of a GPU in Prometheus.
func (s sentState) query(gpu int) string {
	names := strings.NewReplacer(".", "_")
	return fmt.Sprintf(`%s{hw_name="nvidia%d", %s=%q}`, names.Replace(s.metric), gpu, names.Replace(s.attribute), s.value)
}

// TestStateAlerts: a state that ends is 0 in the first message that has the GPU well again, and every alert on it resolves with the next
// evaluation of the shipped rules: in a Prometheus that scrapes the prometheus exporter, and in one that takes OTLP.
func TestStateAlerts(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	gpus := len(stateAlerts)
	n := prepareAlerting(t, "states", gpus, shippedOTLP(t, shortDurations), true)
	n.shipped.interval = patient // no alert comes from a late read
	n.install()
	n.start(gpus)
	n.prometheus = append(n.prometheus, scrapingPrometheus(t,
		"global: {evaluation_interval: 1s}\nrule_files: ["+shippedRules(t, shortDurations)+"/*.rules.yaml]", n.page))

	var scenario, alerts []string
	for i, c := range stateAlerts {
		scenario = append(scenario, c.scenario)
		alerts = append(alerts, fmt.Sprintf("%s nvidia%d", c.alert, i))
	}
	everyState := func(is float64) {
		t.Helper()
		for _, address := range n.prometheus {
			for i, c := range stateAlerts {
				for _, s := range c.states {
					eventually(t, patience, fmt.Sprint(s.query(i), " is ", is), func() bool { return ask(t, address, s.query(i)) == is })
				}
			}
		}
	}
	n.set(strings.Join(scenario, "\n"))
	everyState(1)
	n.fires(alerts...)

	n.set("")
	points := n.next("all are well", full(gpus))
	for i, c := range stateAlerts {
		for _, s := range c.states {
			value, ok := points.Value(s.metric, "hw.name", fmt.Sprintf("nvidia%d", i), s.attribute, s.value)
			require.True(t, ok, "%v is sent", s)
			assert.Zero(t, value, "%v", s)
		}
	}
	everyState(0)
	known := time.Now()
	for _, address := range n.prometheus {
		assert.Empty(t, n.alertsSince(address, known))
	}
}
