// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Prometheus on a plain machine has the GPUs, how reads go, and what the shipped rules record, with the shipped configurations of Prometheus and
// of the agent, and with the ports of both but for the machine's that the test may not take.
func TestPrometheusOnAMachine(t *testing.T) {
	t.Parallel()
	prometheus := tool(t, "prometheus")
	n := prepare(t, spec{scenario: "gpus = 3"})
	s := shipped{
		configs:  []string{"agent.yaml"},
		scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}", simulator(t).Full),
		env:      n.environment(),
	}
	var page string
	page, n.process = s.start(t, n.dir, n.sink)
	n.next("three GPUs", full(3))

	text, err := os.ReadFile(filepath.Join(root(t), "deploy", "prometheus", "prometheus-machine.yaml"))
	require.NoError(t, err)
	rules := shippedRules(t, func(rules []byte) []byte { return rules })
	configuration := string(text)
	for old, replacement := range map[string]string{
		"localhost:9400":        address(page),
		"localhost:9401":        address(s.telemetry),
		"- recording.rules":     "- " + rules + "/recording.rules",
		"- alerting.rules":      "- " + rules + "/alerting.rules",
		"scrape_interval: 30s ": "scrape_interval: 1s ", "scrape_interval: 30s\n": "scrape_interval: 1s\n",
	} {
		require.Contains(t, configuration, old)
		configuration = strings.ReplaceAll(configuration, old, replacement)
	}
	server := startPrometheus(t, prometheus, "global: {evaluation_interval: 1s}\n"+configuration)
	for query, want := range map[string]float64{
		`count(up == 1)`: 2,
		`sum(hw_gpu_count{hw_gpu_presence="visible"})`:          3,
		`sum(hw_status{hw_state="ok"})`:                         3,
		`min(otelcol_gpu_read_success)`:                         1,
		`sum(node:hw_gpu_count:sum{hw_gpu_presence="visible"})`: 3,
	} {
		becomes(t, server, query, want)
	}
	becomes(t, server, `count(ALERTS) or vector(0)`, 0)
}

// address is host and port of a page's URL.
func address(page string) string {
	return strings.TrimSuffix(strings.TrimPrefix(page, "http://"), "/metrics")
}
