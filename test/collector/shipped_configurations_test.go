// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// run runs the collector until it ends by itself, and returns its exit code and its output.
func run(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	process, err := harness.Start(harness.Options{
		Binary: binary(t), Dir: t.TempDir(), Args: args,
		Env: []string{"K8S_NODE_NAME=node-a", "OTLP_ENDPOINT=127.0.0.1:4317", "OTLP_TOKEN_FILE=/etc/otelcol-gpu/token", "OTLP_URL=http://127.0.0.1:4318"},
	})
	require.NoError(t, err)
	code, err = process.Wait(patience)
	require.NoError(t, err, process.Output())
	return code, process.Output()
}

func examples(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root(t), "config", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	for _, path := range examples(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, args := range [][]string{{"validate", "--config", path}, {"validate", "--config", path, harness.FeatureGates}} {
				if len(args) == 3 && strings.Contains(string(text), "--feature-gates=") {
					continue // it says that it needs them
				}
				code, output := run(t, args...)
				assert.Zero(t, code, output)
			}
		})
	}
}

// The prometheus exporter shows the last value of a series for metric_expiration, five minutes by default. A lost GPU would seem to work
// for that long.
func TestExamplesAreCurrent(t *testing.T) {
	t.Parallel()
	binary(t)
	for _, path := range examples(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			conf, err := confmaptest.LoadConf(path)
			require.NoError(t, err)
			exporters, err := conf.Sub("exporters")
			require.NoError(t, err)
			interval := 30 * time.Second
			if set, ok := conf.Get("receivers::gpu::collection_interval").(string); ok {
				interval, err = time.ParseDuration(strings.TrimSuffix(strings.TrimPrefix(set, "${env:COLLECTION_INTERVAL:-"), "}"))
				require.NoError(t, err)
			}
			for key := range exporters.ToStringMap() {
				if kind, _, _ := strings.Cut(key, "/"); kind != "prometheus" {
					continue
				}
				set, _ := exporters.Get(key + "::metric_expiration").(string)
				expiration, err := time.ParseDuration(set)
				require.NoError(t, err, "exporters::%s::metric_expiration: %q", key, set)
				assert.LessOrEqual(t, expiration, 5*interval)
				assert.Greater(t, expiration, interval)
				assert.Equal(t, []any{"*"}, exporters.Get(key+"::resource_constant_labels::included"))
				assert.Equal(t, true, exporters.Get(key+"::without_scope_info"), "a release renames no series")
			}
		})
	}
}
