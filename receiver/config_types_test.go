// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// loadYAML reads a configuration with the collector's own YAML parser, which distinguishes integers from other numbers.
func loadYAML(t *testing.T, text string) (*Config, error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	return loadMap(conf.ToStringMap())
}

// A value of the wrong type is refused with the setting's whole key, and never taken as a part of it.
func TestWrongKindOfValue(t *testing.T) {
	const exec = "scrapers: {kubernetes_exec: {clusters: [{name: a}], "
	for text, want := range map[string]string{
		"max_processes: 1.5":                    "max_processes: must be a whole number, got 1.5",
		"max_processes: 1e30":                   "max_processes: must be a whole number, got 1e+30",
		"max_processes: many":                   `max_processes: must be a whole number, got "many"`,
		"max_processes: -1":                     "max_processes: must be 0 or more, got -1",
		exec + "max_concurrent: 1.5}}":          "scrapers::kubernetes_exec::max_concurrent: must be a whole number, got 1.5",
		exec + "shards: 2.9}}":                  "scrapers::kubernetes_exec::shards: must be a whole number, got 2.9",
		exec + "attribute_pods: 1}}":            "scrapers::kubernetes_exec::attribute_pods: must be true or false, got 1",
		exec + "owners: [replicasets.apps]}}":   "scrapers::kubernetes_exec::owners: must be a section of settings, or empty, got a list",
		exec + "targets: {label_selector: a}}}": "scrapers::kubernetes_exec::targets: must be a list, got a section of settings",
		exec + "targets: [nvidia_smi]}}":        `scrapers::kubernetes_exec::targets::0: must be a section of settings, got "nvidia_smi"`,
		exec + "targets: [{selector: a}]}}":     "scrapers::kubernetes_exec::targets::0::selector: there is no such setting; allowed are container, label_selector",
		exec + "node_labels: 1}}":               "scrapers::kubernetes_exec::node_labels: must be a list, got 1",
		exec + "node_labels: {a: b}}}":          "scrapers::kubernetes_exec::node_labels: must be a list, got a section of settings",
		"scrapers: {kubernetes_exec: {clusters: [{name: a}, {name: b, kube_api_burst: 1.5}]}}":      "scrapers::kubernetes_exec::clusters::1::kube_api_burst: must be a whole number, got 1.5",
		"scrapers: {kubernetes_exec: {clusters: [{name: a, kube_api_qps: }]}}":                      "scrapers::kubernetes_exec::clusters::0::kube_api_qps: is empty",
		"scrapers: {kubernetes_exec: {clusters: [{name: a, insecure_skip_verify: }]}}":              "scrapers::kubernetes_exec::clusters::0::insecure_skip_verify: is empty",
		"scrapers: {kubernetes_exec: {clusters: [{name: a, kube_api_qps: .nan}]}}":                  "scrapers::kubernetes_exec::clusters::0::kube_api_qps: must be a number, got NaN",
		"scrapers: {kubernetes_exec: {clusters: {name: a}}}":                                        "scrapers::kubernetes_exec::clusters: must be a list, got a section of settings",
		"scrapers: {kubernetes_cluster: {kube_api_qps: 1e99}}":                                      "scrapers::kubernetes_cluster::kube_api_qps: must be a number, got 1e+99",
		"scrapers: {kubernetes_cluster: {kube_api_qps: fast}}":                                      `scrapers::kubernetes_cluster::kube_api_qps: must be a number, got "fast"`,
		"scrapers: {nvml: {keep_open: maybe}}":                                                      `scrapers::nvml::keep_open: must be true or false, got "maybe"`,
		"scrapers: {amdgpu: {wake_devices: 1}}":                                                     "scrapers::amdgpu::wake_devices: must be true or false, got 1",
		"attribution: on":                                                                           `attribution: must be a section of settings, or empty, got "on"`,
		"attribution: {processes: true}":                                                            "attribution::processes: must be a section of settings, or empty, got true",
		"attribution: {processes: {any_pid_namespace: 'yes'}}":                                      `attribution::processes::any_pid_namespace: must be true or false, got "yes"`,
		"attribution: {node_name: a, owners: {kube_api_burst: 0.5}}":                                "attribution::owners::kube_api_burst: must be a whole number, got 0.5",
		"metrics: {hw.power: true}":                                                                 "metrics::hw.power: must be a section of settings, or empty, got true",
		"metrics: {hw.power: {enabled: 1}}":                                                         "metrics::hw.power::enabled: must be true or false, got 1",
		"events: {hw.gpu.xid: {enabled: 'no'}}":                                                     `events::hw.gpu.xid::enabled: must be true or false, got "no"`,
		"resource_attributes: {host.name: {metrics_include: [{strict: n1}, {regex: n2}]}}":          "resource_attributes::host.name::metrics_include::1::regex: there is no such setting",
		"initial_delay: -5s":                                                                        "initial_delay: must be 0 or more, got -5s",
		"scrapers: {kubernetes_cluster: {resource_names: 'nvidia.com/gpu, amd.com/gpu'}}":           `scrapers::kubernetes_cluster::resource_names: " amd.com/gpu" is not the name of a resource`,
		"scrapers: {kubernetes_cluster: {kube_api_burst: 1.5, kube_api_qps: x}, nvml: {}}":          "scrapers::kubernetes_cluster::kube_api_burst: must be a whole number",
		"max_processes: 2.5\nscrapers: {nvml: {}}\nattribution: {processes: {proc_path: /p}, x: 1}": "max_processes: must be a whole number",
	} {
		_, err := loadYAML(t, text)
		require.Error(t, err, text)
		assert.ErrorContains(t, err, want, text)
	}
}

// A value that can be converted without ambiguity is accepted.
func TestRightKindOfValue(t *testing.T) {
	cfg, err := loadYAML(t, "max_processes: 1e3\ninitial_delay: 0s\nattribution: {node_name: n1, owners: {kube_api_qps: 20, kinds: 'jobs.batch,replicasets.apps'}}")
	require.NoError(t, err)
	assert.Equal(t, 1000, cfg.MaxProcesses)
	assert.Zero(t, cfg.ControllerConfig.InitialDelay)
	assert.InDelta(t, 20, cfg.Attribution.Owners.API.QPS, 0)
	assert.Equal(t, []string{"jobs.batch", "replicasets.apps"}, cfg.Attribution.Owners.Kinds)
}
