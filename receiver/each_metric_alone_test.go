// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// A metric has the same values whichever other metrics are enabled: each metric causes the reads that it needs.
func TestEachMetricAloneNVML(t *testing.T) {
	lib := simulator(t)
	control := nvmlsim.Use(t, "time = manual\n"+twoH100+`
[gpu *]
nvlink.replay = 3
nvlink.recovery = 1
nvlink.crc_flit = 5
[process p]
gpu = *
pid = 51003
memory = 22Gi
sm = 55
[event e]
gpu = 0
xid = 79
at = 10
`)
	closed(t, lib)
	now := simEpoch
	settings := nvml.DefaultConfig()
	settings.LibraryPath = lib.Full
	eachAlone(t, func(want gpu.Group) gpu.Source {
		return nvml.New(&settings, want, nvml.WithClock(func() time.Time { return now }), nvml.WithSysRoot(t.TempDir()), nvml.WithProcRoot(t.TempDir()))
	}, func() {
		now = now.Add(30 * time.Second)
		require.NoError(t, control.Set("now = 30s"))
	})
}

// The same for the other vendor.
func TestEachMetricAloneAMDGPU(t *testing.T) {
	machine := amdgpusim.Machines()["mi300x-cpx"]()
	settings := amdgpu.DefaultConfig()
	settings.RootPath = t.TempDir()
	_, err := amdgpusim.Write(settings.RootPath, machine)
	require.NoError(t, err)
	now := simEpoch
	eachAlone(t, func(want gpu.Group) gpu.Source {
		source, err := amdgpu.New(settings, want, amdgpu.WithClock(func() time.Time { return now }))
		require.NoError(t, err)
		return source
	}, func() {
		now = now.Add(halfAMinute * time.Second)
		passHalfAMinute(machine)
		_, err := amdgpusim.Write(settings.RootPath, machine)
		require.NoError(t, err)
	})
}

// eachAlone reads twice with each metric alone and with all of them, and compares the results.
func eachAlone(t *testing.T, open func(gpu.Group) gpu.Source, pass func()) {
	t.Helper()
	eachAloneOf(t, open, nil, pass)
}

// eachAloneOf does the same with an attribution, if given, and requires that some metrics are present.
func eachAloneOf(t *testing.T, open func(gpu.Group) gpu.Source, attribute func(*stage), pass func(), there ...string) {
	t.Helper()
	begin := func(cfg metadata.MetricsBuilderConfig) *stage {
		source := open(record.Wanted(&cfg.Metrics, new(metadata.EventsConfig), attribute != nil))
		t.Cleanup(func() { require.NoError(t, source.Close()) })
		s := newStage(t, "test", source, cfg)
		if attribute != nil {
			attribute(s)
		}
		s.record()
		return s
	}
	all := begin(allMetrics())
	alone := map[string]*stage{}
	for i := range reflect.TypeFor[metadata.MetricsConfig]().NumField() {
		cfg := metadata.NewDefaultMetricsBuilderConfig()
		var name string
		for j, metrics := 0, reflect.ValueOf(&cfg.Metrics).Elem(); j < metrics.NumField(); j++ {
			metrics.Field(j).FieldByName("Enabled").SetBool(i == j)
			if i == j {
				name = metrics.Type().Field(j).Tag.Get("mapstructure")
			}
		}
		alone[name] = begin(cfg)
	}
	pass()
	together := otlptest.Points(all.record())
	assert.Subset(t, otlptest.Names(together), there)
	for name, s := range alone {
		assert.Equal(t, pointValues(otlptest.Of(together, name)), pointValues(otlptest.Points(s.record())), name)
	}
}

// pointValues returns the points as a backend shows them.
func pointValues(points []otlptest.Point) map[string]float64 {
	values := make(map[string]float64, len(points))
	for i := range points {
		values[points[i].Series()] = points[i].Value
	}
	return values
}

// The same for a source that runs a tool: the restricted query omits nothing.
func TestEachMetricAloneTools(t *testing.T) {
	for name, scraper := range map[string]struct{ key, tool, query string }{
		"nvidia_smi_full": {"nvidia_smi", "nvidia-smi", "full"},
		"nvidia_smi_mig":  {"nvidia_smi", "nvidia-smi", "full"},
		"nvidia_smi_fast": {"nvidia_smi", "nvidia-smi", "fast"},
		"rocm_smi":        {"rocm_smi", "rocm-smi", ""},
		"amd_smi":         {"amd_smi", "amd-smi", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", "testdata", "tools", name, scraper.tool))
			require.NoError(t, err)
			settings := map[string]any{"path": path}
			if scraper.query != "" {
				settings["query"] = scraper.query
			}
			cfg, err := loadMap(map[string]any{"scrapers": map[string]any{scraper.key: settings}})
			require.NoError(t, err)
			eachAlone(t, func(want gpu.Group) gpu.Source {
				source, err := openSource(scraper.key, cfg, want)
				require.NoError(t, err)
				return source
			}, func() {})
		})
	}
}

// allMetrics enables all metrics.
func allMetrics() metadata.MetricsBuilderConfig {
	cfg := metadata.NewDefaultMetricsBuilderConfig()
	for i, metrics := 0, reflect.ValueOf(&cfg.Metrics).Elem(); i < metrics.NumField(); i++ {
		metrics.Field(i).FieldByName("Enabled").SetBool(true)
	}
	return cfg
}
