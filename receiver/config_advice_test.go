// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// What would not do what it says is refused with the user's key.
func TestRefusedConfig(t *testing.T) {
	const exec = "scrapers: {kubernetes_exec: {clusters: [{name: a}]}}\n"
	for text, want := range map[string]string{
		"initial_delay: 25h":                                                       "initial_delay: 25h0m0s is longer than a day",
		exec + "attribution: {pod_resources: }":                                    "attribution::pod_resources: is for the GPUs of this machine",
		exec + "attribution: {processes: }":                                        "use attribute_pods of the scraper",
		exec + "attribution: {node_name: n1, owners: }":                            "use owners of the scraper",
		"scrapers: {kubernetes_cluster: }\nattribution: {node_name: n1, owners: }": "attribution::owners: is for the GPUs of this machine, which scrapers::kubernetes_cluster does not read",
		"scrapers: {kubernetes_cluster: , kubernetes_exec: {clusters: [{name: a}]}}\nattribution: {processes: }": "which scrapers::kubernetes_exec does not read: leave it out; use attribute_pods of the scraper",
		"resource_attributes: {host.name: {metrics_include: [{strict: a, regexp: b}]}}":                          "resource_attributes::",
		"resource_attributes: {process.command_line: {metrics_include: [{strict: a}]}}":                          "resource_attributes::process.command_line::metrics_include: has no effect",
		"scrapers: {kubernetes_exec: {clusters: [{name: a, targets: [{namespace: b}]}]}}":                        "scrapers::kubernetes_exec::clusters::0::targets::0::label_selector: must be set",
		"scrapers: {kubernetes_exec: {clusters: [{name: a, targets: [{label_selector: b, tool: xyz}]}]}}":        "clusters::0::targets::0::tool: \"xyz\" is unknown",
	} {
		_, err := loadYAML(t, text)
		require.Error(t, err, text)
		require.ErrorContains(t, err, want, text)
		assert.NotContains(t, err.Error(), "metricsbuilderconfig", text)
	}
	for _, text := range []string{
		exec + "attribution: {cluster_name: a}",
		"resource_attributes: {process.command_line: {enabled: true, metrics_include: [{strict: a}]}}",
		"resource_attributes: {process.command_line: {enabled: false}}",
	} {
		_, err := loadYAML(t, text)
		require.NoError(t, err, text)
	}
}

// What is most likely not meant is logged.
func TestWarnedConfig(t *testing.T) {
	cfg, err := loadYAML(t, "scrapers: {kubernetes_exec: {clusters: [{name: a}]}}\ntimeout: 5s")
	require.NoError(t, err)
	require.Len(t, cfg.warnings(), 1)
	assert.Contains(t, cfg.warnings()[0], "timeout: 5s is short for scrapers::kubernetes_exec")
	cfg.ControllerConfig.Timeout = 6 * time.Second
	assert.Empty(t, cfg.warnings())

	core, logs := observer.New(zap.WarnLevel)
	f := &factory{}
	set := newRig(t, nil).set
	set.Logger = zap.New(core)
	for i, text := range []string{"scrapers: {nvml: }", "scrapers: {amdgpu: }", "scrapers: {nvidia_smi: }"} {
		cfg, err := loadYAML(t, text)
		require.NoError(t, err)
		_, _, err = f.get(cfg, set, metricsSignal)
		require.NoError(t, err)
		assert.Equal(t, i/2, logs.FilterMessageSnippet("Two receivers read the same GPUs").Len())
	}
}

// A file of certificate authorities that cannot be used is named with its whole key.
func TestCAFileHasItsKey(t *testing.T) {
	const api = "endpoint: 'https://h:6443', token_file: /t, ca_file: /nowhere/ca.crt"
	for text, key := range map[string]string{
		"scrapers: {kubernetes_exec: {clusters: [{name: a, " + api + "}]}}": "scrapers::kubernetes_exec::clusters::0::ca_file",
		"scrapers: {kubernetes_cluster: {" + api + "}}":                     "scrapers::kubernetes_cluster::ca_file",
		"attribution: {node_name: n1, owners: {" + api + "}}":               "attribution::owners::ca_file",
	} {
		cfg, err := loadYAML(t, text)
		require.NoError(t, err)
		r := newRigOf(t, func(string, *Config, gpu.Group) (gpu.Source, error) { return always(), nil })
		if cfg.Scrapers != nil {
			r.cfg.Scrapers = cfg.Scrapers
		}
		r.cfg.Attribution = cfg.Attribution
		m := r.newMetrics()
		require.ErrorContains(t, m.Start(t.Context(), r.host), key+": open /nowhere/ca.crt")
		require.NoError(t, m.Shutdown(t.Context()))
	}
}
