// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// `otelcol-gpu print-config` prints the effective configuration, including the scrapers. Its output yields the same configuration again.
func TestPrintedConfigIsTheSame(t *testing.T) {
	for _, text := range []string{
		"",
		"scrapers: {nvidia_smi: {query: fast}, amdgpu: }",
		"scrapers: {nvml: {library_path: /opt/libnvidia-ml.so.1, keep_open: false}}\nmax_processes: 7\ntimeout: 3s",
		"attribution: {node_name: n1, cluster_name: c, processes: {any_pid_namespace: true}}\nmetrics: {hw.power: {enabled: false}}",
		"attribution: {node_name: n1, pod_resources: , owners: {labels: [team]}}\nevents: {process.gpu.started: {enabled: true}}",
		"scrapers: {kubernetes_exec: {clusters: [{name: a}], targets: [{label_selector: app=x}]}}",
		"scrapers: {kubernetes_exec: {clusters: [{name: a, endpoint: 'https://a', token_file: /t}], leader_election: {lease_namespace: l}}}",
		"scrapers: {kubernetes_cluster: {resource_names: [nvidia.com/gpu]}}",
		"scrapers: {kubernetes_cluster: {leader_election: {lease_namespace: l}, owners: {kinds: [jobs.batch]}}}",
	} {
		cfg, err := load(t, text)
		require.NoError(t, err, text)
		first := printed(t, cfg)
		again, err := loadMap(first)
		require.NoError(t, err, text)
		assert.Equal(t, cfg.Scrapers, again.Scrapers, text)
		assert.Equal(t, cfg.Attribution, again.Attribution, text)
		assert.Equal(t, first, printed(t, again), text)
	}
}

// printed is the collector's output for a receiver.
func printed(t *testing.T, cfg *Config) map[string]any {
	t.Helper()
	conf := confmap.New()
	require.NoError(t, conf.Marshal(map[string]any{"gpu": cfg}))
	settings, err := conf.Sub("gpu")
	require.NoError(t, err)
	return settings.ToStringMap()
}
