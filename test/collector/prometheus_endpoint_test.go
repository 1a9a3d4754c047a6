// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// Prometheus's own linter has no findings for the endpoint, except for one name.
func TestPromtoolAgrees(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool")
	n := start(t, spec{})
	n.next("eight GPUs", full(8))
	_, body, err := harness.Get(t.Context(), n.page)
	require.NoError(t, err)
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = strings.NewReader(body)
	output, _ := check.CombinedOutput() // it exits with an error for any finding
	// The names follow OpenTelemetry's conventions for counts, which Prometheus's linter rejects.
	left := string(output)
	for _, name := range []string{"hw_gpu_count", "hw_gpu_interconnect_link_count", "hw_gpu_memory_bank_count"} {
		left = strings.Replace(left, name+` non-histogram and non-summary metrics should not have "_count" suffix`, "", 1)
	}
	assert.Empty(t, strings.TrimSpace(left))
}

// A real Prometheus accepts every series of the endpoint, without duplicates or out-of-order samples, and evaluates queries on them.
func TestPrometheusAgrees(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	n := start(t, spec{scenario: "gpus = 4\n[gpu *]\nboard = h100\npower = 250\n[process p]\ngpu = *\npid = 7\nmemory = 2Gi"})
	n.next("four GPUs", full(4))

	address := scrapingPrometheus(t, "", n.page)
	becomes(t, address, "up", 1)
	eventually(t, patience, "every series is taken", func() bool {
		page := n.metrics()
		return ask(t, address, "scrape_samples_post_metric_relabeling") == float64(len(page)) &&
			ask(t, address, `count(count by (__name__) ({__name__=~"hw_.*"}))`) == float64(names(page, "hw_"))
	})
	for query, want := range map[string]float64{
		`count(hw_power_watts)`:                   4,
		`sum(hw_power_watts{hw_parent=""})`:       1000,
		`hw_gpu_count{hw_gpu_presence="visible"}`: 4,
		`sum(hw_status{hw_state="ok"})`:           4,
		`sum(process_gpu_memory_usage_bytes)`:     4 * 2 << 30,
	} {
		becomes(t, address, query, want)
	}
	// 250 W are 250 J a second.
	eventually(t, patience, "the rate of the energy", func() bool {
		rate := ask(t, address, `avg(rate(hw_energy_joules_total[10s]))`)
		return rate > 200 && rate < 300
	})
}

func names(page []harness.Series, prefix string) int {
	seen := map[string]struct{}{}
	for _, s := range page {
		if strings.HasPrefix(s.Name, prefix) {
			seen[s.Name] = struct{}{}
		}
	}
	return len(seen)
}
