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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// With Prometheus alone, on a machine and in a pod of the chart: GPUs, the collector's own metrics and alerts on both arrive by scrapes, and the
// collector sends nothing and logs no failure.
func TestPrometheusOnly(t *testing.T) {
	t.Parallel()
	prometheus := tool(t, "prometheus")
	for name, c := range map[string]struct{ config, scrapers string }{
		"machine": {"agent-prometheus.yaml", "scrapers: {nvml: {library_path: %q}}"},
		"chart":   {renderedAgent(t), "scrapers: {nvml: {library_path: %q}}\n    attribution: {pod_resources: null}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := prepare(t, spec{scenario: "gpus = 3"})
			s := shipped{configs: []string{c.config}, scrapers: fmt.Sprintf(c.scrapers, simulator(t).Full), env: n.environment()}
			var page string
			page, n.process = s.start(t, n.dir, n.sink)
			rules := shippedRules(t, shortDurations)
			server := startPrometheus(t, prometheus, "global: {evaluation_interval: 1s, scrape_interval: 1s}\nrule_files: ["+rules+"/*.rules.yaml]\nscrape_configs:\n"+
				"- {job_name: gpu, static_configs: [{targets: ['"+address(page)+"', '"+address(s.telemetry)+"']}]}\n")
			for query, want := range map[string]float64{`min(up)`: 1, `sum(hw_status{hw_state="ok"})`: 3, `min(otelcol_gpu_read_success)`: 1} {
				becomes(t, server, query, want)
			}
			require.NoError(t, n.control.Write("[event x]\ngpu = 1\nxid = 79"))
			becomes(t, server, `count(ALERTS{alertname="GPUXID", alertstate="firing"}) or vector(0)`, 1)
			messages, _ := n.sink.Messages()
			assert.Zero(t, messages, "nothing is sent")
			assert.NotContains(t, n.process.Output(), "\terror\t")
		})
	}
}

// renderedAgent writes the agent's configuration of the chart with otlp.enabled=false, and returns its path below config/. A test of the chart keeps
// the golden file up to date.
func renderedAgent(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "test", "deploy", "testdata", "helm", "prometheus.golden.yaml"))
	require.NoError(t, err)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var object struct {
			Kind string            `json:"kind"`
			Data map[string]string `json:"data"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object))
		if config := object.Data["agent-kubernetes.yaml"]; object.Kind == "ConfigMap" && config != "" {
			path := filepath.Join(t.TempDir(), "agent.yaml")
			require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
			path, err = filepath.Rel(filepath.Join(root(t), "config"), path)
			require.NoError(t, err)
			return path
		}
	}
	require.Fail(t, "the golden file has no configuration of the agent")
	return ""
}
