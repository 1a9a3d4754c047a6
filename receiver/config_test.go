// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/nvml"
)

// load reads a configuration as the collector does: into the defaults, then validated.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	return loadMap(parse(t, text))
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	settings := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &settings))
	return settings
}

func loadMap(settings map[string]any) (*Config, error) {
	cfg := createDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(settings).Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestDefaultConfig(t *testing.T) {
	for _, text := range []string{"", "scrapers:", "scrapers: {}"} {
		cfg, err := load(t, text)
		require.NoError(t, err)
		assert.Equal(t, createDefaultConfig(), cfg, "%q", text)
	}
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, componenttest.CheckConfigStruct(cfg))
	assert.Equal(t, 30*time.Second, cfg.ControllerConfig.CollectionInterval)
	assert.Equal(t, 10*time.Second, cfg.ControllerConfig.Timeout)
	assert.Equal(t, 512, cfg.MaxProcesses)
	assert.Equal(t, []string{"amdgpu", "nvml"}, cfg.scraperKeys(), "one for each vendor")
	assert.Equal(t, &nvml.Config{KeepOpen: true}, cfg.scraperConfig("nvml"))
	assert.Equal(t, metadata.DefaultEventsConfig(), cfg.Events)
	assert.Nil(t, cfg.Attribution.PodResources)
}

func TestConfig(t *testing.T) {
	cfg, err := load(t, `
collection_interval: 15s
initial_delay: 3s
timeout: 5s
max_processes: 0
scrapers:
  nvml: {library_path: /opt/libnvidia-ml.so.1, keep_open: false, pcie_sampling: true}
  amdgpu:
attribution: {node_name: n1, cluster_name: c1, processes: }
metrics:
  hw.gpu.sm.occupancy: {enabled: true}
  hw.energy: {enabled: false}
resource_attributes:
  process.owner: {enabled: false}
events:
  hw.gpu.xid: {enabled: false}
`)
	require.NoError(t, err)
	assert.Equal(t, 15*time.Second, cfg.ControllerConfig.CollectionInterval)
	assert.Equal(t, 3*time.Second, cfg.ControllerConfig.InitialDelay)
	assert.Equal(t, 5*time.Second, cfg.ControllerConfig.Timeout)
	assert.Zero(t, cfg.MaxProcesses)
	assert.Equal(t, []string{"amdgpu", "nvml"}, cfg.scraperKeys())
	assert.Equal(t, &nvml.Config{LibraryPath: "/opt/libnvidia-ml.so.1", PCIeSampling: true}, cfg.scraperConfig("nvml"))
	defaults := amdgpu.DefaultConfig()
	assert.Equal(t, &defaults, cfg.scraperConfig("amdgpu"), "a key without settings has the defaults")
	assert.Equal(t, "n1", cfg.Attribution.NodeName)
	assert.Equal(t, "c1", cfg.Attribution.ClusterName)
	assert.NotNil(t, cfg.Attribution.Processes, "a key without settings has the defaults")
	assert.True(t, cfg.Metrics.HwGpuSmOccupancy.Enabled)
	assert.False(t, cfg.Metrics.HwEnergy.Enabled)
	assert.True(t, cfg.Metrics.HwPower.Enabled)
	assert.False(t, cfg.ResourceAttributes.ProcessOwner.Enabled)
	assert.False(t, cfg.Events.HwGpuXid.Enabled)
	assert.True(t, cfg.Events.HwGpuStatus.Enabled)
}

// Every scraper may be given without settings, also as null or as an empty section. Then it runs alone.
func TestEachScraperAlone(t *testing.T) {
	for key := range scraperKinds {
		for _, settings := range []any{nil, map[string]any{}} {
			cfg, err := loadMap(map[string]any{"scrapers": map[string]any{key: settings}})
			if key == fleetKey { // it requires a list of clusters
				require.ErrorContains(t, err, "scrapers::kubernetes_exec::clusters: ")
				continue
			}
			require.NoError(t, err, key)
			assert.Equal(t, []string{key}, cfg.scraperKeys())
			assert.Equal(t, scraperKinds[key].defaultConfig(), cfg.scraperConfig(key))
		}
	}
}

// Scrapers of this machine for different vendors may run together; scrapers of one vendor may not. All combinations are tried.
func TestScrapersTogether(t *testing.T) {
	keys := slices.Sorted(maps.Keys(scraperKinds))
	refused := 0
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			if scraperKinds[a].vendor == "" || scraperKinds[b].vendor == "" {
				continue // not of this machine
			}
			_, err := loadMap(map[string]any{"scrapers": map[string]any{a: nil, b: nil}})
			if scraperKinds[a].vendor != scraperKinds[b].vendor {
				require.NoError(t, err, "%s and %s", a, b)
				continue
			}
			refused++
			require.ErrorContains(t, err, fmt.Sprintf("scrapers::%s and scrapers::%s", a, b))
			require.ErrorContains(t, err, "keep one")
			require.ErrorContains(t, err, string(scraperKinds[a].vendor))
		}
	}
	assert.GreaterOrEqual(t, refused, 4, "nvml with nvidia_smi, and three pairs of AMD's")
}

// A timeout that is not configured causes no second error.
func TestIntervalWithoutUnit(t *testing.T) {
	_, err := load(t, "collection_interval: 30")
	require.EqualError(t, err, "collection_interval: 30ns is too short; give it a unit, such as 30s")
}

// Each error names the whole key and states the allowed values or the remedy.
func TestWrongConfig(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"unknown scraper":          {"scrapers: {cuda: {}}", []string{"scrapers::cuda", "allowed are amd_smi, amdgpu,", "nvml"}},
		"unknown key":              {"intervall: 5s", []string{"intervall", "allowed are attribution, collection_interval,", "scrapers"}},
		"unknown key of scraper":   {"scrapers: {nvml: {library_file: /x}}", []string{"scrapers::nvml::library_file", "allowed are keep_open, library_path, pcie_sampling, wake_devices"}},
		"unknown keys":             {"scrapers: {nvml: {a: 1, b: 2}}", []string{"scrapers::nvml::a:", "scrapers::nvml::b:"}},
		"unknown key within":       {"attribution: {owners: {kind: [x]}}", []string{"attribution::owners::kind:", "kinds"}},
		"unknown metric":           {"metrics: {hw.gpu.temp: {enabled: true}}", []string{"metrics::hw.gpu.temp:", "documentation.md"}},
		"misspelt metric":          {"metrics: {hw.gpu.memory.utilisation: {enabled: true}}", []string{"similar are hw.gpu.memory.utilization; documentation.md"}},
		"unknown key of metric":    {"metrics: {hw.power: {enable: true}}", []string{"metrics::hw.power::enable:", "allowed are enabled"}},
		"unknown attribute":        {"resource_attributes: {pod: {enabled: true}}", []string{"resource_attributes::pod:"}},
		"unknown event":            {"events: {hw.gpu.gone: {enabled: true}}", []string{"events::hw.gpu.gone:", "hw.gpu.lost"}},
		"scrapers as a list":       {"scrapers: [nvml]", []string{"scrapers:", "each with its settings", "nvml"}},
		"scrapers as text":         {"scrapers: nvml", []string{"scrapers:", "each with its settings", "nvml"}},
		"scraper as text":          {"scrapers: {nvml: on}", []string{"scrapers::nvml:", "section of settings, or empty"}},
		"scraper as a list":        {"scrapers: {nvml: [keep_open]}", []string{"scrapers::nvml:", "section of settings, or empty"}},
		"wrong type":               {"scrapers: {nvml: {keep_open: maybe}}", []string{"scrapers::nvml::keep_open:", "true or false", `"maybe"`}},
		"wrong duration":           {"timeout: soon", []string{"timeout: must be a duration with a unit (h, m, s or ms), such as 30s", `got "soon"`}},
		"days":                     {"collection_interval: 1d", []string{"collection_interval: must be a duration with a unit (h, m, s or ms), such as 30s", `got "1d"`}},
		"duration as a list":       {"timeout: [10s]", []string{"timeout: must be a duration", "got a list"}},
		"throttled for days":       {"throttled_after: 1d", []string{"throttled_after: must be a duration", `got "1d"`}},
		"interval below a read":    {"collection_interval: 99ms", []string{"collection_interval: 99ms is too short", "set 100ms or more"}},
		"timeout below a read":     {"timeout: 99ms", []string{"timeout: 99ms is too short", "set 100ms or more"}},
		"timeout 0":                {"timeout: 0s", []string{"timeout:", "above 0"}},
		"timeout negative":         {"timeout: -1s", []string{"timeout:", "above 0"}},
		"timeout above interval":   {"collection_interval: 5s\ntimeout: 10s", []string{"timeout: 10s", "collection_interval, 5s", "shorten the timeout or lengthen the interval"}},
		"interval without a unit":  {"collection_interval: 60\ntimeout: 10", []string{"collection_interval: 60ns", "timeout: 10ns", "unit, such as 30s"}},
		"timeout without a unit":   {"timeout: 10", []string{"timeout: 10ns", "unit, such as 30s"}},
		"delay without a unit":     {"initial_delay: 5", []string{"initial_delay: 5ns", "unit, such as 30s"}},
		"interval 0":               {"collection_interval: 0s", []string{"collection_interval:", "above 0"}},
		"interval negative":        {"collection_interval: -5s", []string{"collection_interval:", "above 0"}},
		"number left empty":        {"max_processes:", []string{"max_processes:", "empty", "leave it out for the default"}},
		"duration left empty":      {"timeout:", []string{"timeout:", "empty", "leave it out for the default"}},
		"switch left empty":        {"scrapers: {nvml: {keep_open: }}", []string{"scrapers::nvml::keep_open:", "empty"}},
		"metric left empty":        {"metrics: {hw.power: {enabled: }}", []string{"metrics::hw.power::enabled:", "empty"}},
		"max_processes negative":   {"max_processes: -1", []string{"max_processes:", "0 or more", "-1"}},
		"relative library":         {"scrapers: {nvml: {library_path: lib/libnvidia-ml.so.1}}", []string{"scrapers::nvml::library_path:", "absolute path", `"lib/libnvidia-ml.so.1"`}},
		"unknown query":            {"scrapers: {nvidia_smi: {query: slow}}", []string{"scrapers::nvidia_smi::query:", "slow", "full or fast"}},
		"wrong tool":               {"scrapers: {nvidia_smi: {path: /bin/sh}}", []string{"scrapers::nvidia_smi::path:", "/bin/sh", "nvidia-smi"}},
		"two of a vendor":          {"scrapers: {nvml: {}, nvidia_smi: {}}", []string{"scrapers::nvidia_smi and scrapers::nvml", "NVIDIA", "keep one"}},
		"owners without a node":    {"attribution: {owners: {}}", []string{"attribution: node_name:", "K8S_NODE_NAME"}},
		"relative process table":   {"attribution: {processes: {proc_path: proc}}", []string{"attribution::processes: proc_path:", "absolute"}},
		"several at the same time": {"timeout: 0s\nmax_processes: -2", []string{"timeout:", "max_processes:"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, test.text)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "controllerconfig", "no key of ours")
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// The same settings give the same configuration, however often they are read: reading must not change them.
func TestUnmarshalTwice(t *testing.T) {
	settings := parse(t, `
scrapers: {nvml: {keep_open: false}, amdgpu: }
attribution: {processes: }
metrics: {hw.energy: {enabled: false}}
`)
	before := fmt.Sprint(settings)
	first, err := loadMap(settings)
	require.NoError(t, err)
	second, err := loadMap(settings)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	assert.Equal(t, before, fmt.Sprint(settings))

	conf := confmap.NewFromStringMap(settings)
	for range 2 {
		cfg := createDefaultConfig().(*Config)
		require.NoError(t, conf.Unmarshal(cfg))
		assert.Equal(t, first, cfg, "from the same Conf")
	}
}

// Errors of a scraper's Validate are reported below its own key.
func TestScraperErrorsHaveTheirPath(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	wrong := nvidiasmi.DefaultConfig()
	wrong.Query = ""
	cfg.Scrapers = map[string]component.Config{"nvidia_smi": &wrong}
	err := cfg.Validate()
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), "scrapers::nvidia_smi::query:"), err)
}

// Outside of a pod, for example in `validate`, a receiver with in-pod credentials can be created. Missing credentials are reported at
// start.
func TestCredentialsAreReadAtStart(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, scrapers := range []map[string]any{
		nil,
		{"kubernetes_exec": map[string]any{"clusters": []any{map[string]any{"name": "prod"}}}},
		{"kubernetes_cluster": nil},
	} {
		r := newRigOf(t, func(string, *Config, gpu.Group) (gpu.Source, error) { return always(), nil })
		settings := map[string]any{"attribution": map[string]any{"node_name": "n1", "owners": nil}}
		if scrapers != nil {
			settings = map[string]any{"scrapers": scrapers}
		}
		r.cfg.ControllerConfig.CollectionInterval = time.Hour
		require.NoError(t, confmap.NewFromStringMap(settings).Unmarshal(r.cfg))
		require.NoError(t, r.cfg.Validate())
		m := r.newMetrics()
		require.ErrorContains(t, m.Start(t.Context(), r.host), "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
		require.NoError(t, m.Shutdown(t.Context()))
	}
}

// Each part that looks for users enables the attribution by itself. Names and labels of the node do not.
func TestAttributes(t *testing.T) {
	for part, want := range map[string]bool{"pod_resources": true, "processes": true, "owners": true, "node_labels": false, "cluster_name": false} {
		value := any(map[string]any{})
		switch part {
		case "cluster_name":
			value = "prod"
		case "node_labels":
			value = map[string]any{"labels": []any{"zone"}}
		}
		cfg, err := loadMap(map[string]any{"attribution": map[string]any{"node_name": "n1", part: value}})
		require.NoError(t, err, part)
		assert.Equal(t, want, cfg.attributes(), part)
	}
}
