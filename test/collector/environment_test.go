// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// environment is a value for each variable of docs/reference/environment.md, and the keys of the configuration that it sets.
var environment = map[string]struct {
	value string
	keys  map[string]any
}{
	"COLLECTION_INTERVAL": {"7s", map[string]any{
		"receivers::gpu::collection_interval": float64(7 * time.Second), "receivers::gpu::timeout": float64(7 * time.Second),
	}},
	"TELEMETRY_HOST": {"192.0.2.1", map[string]any{}},
	"EXPORTER_PORT":  {"9555", map[string]any{"exporters::prometheus::endpoint": "0.0.0.0:9555"}},
	"LOG_LEVEL":      {"warn", map[string]any{"service::telemetry::logs::level": "warn"}},
	"OTLP_ENDPOINT":  {"backend.example:4319", map[string]any{"exporters::otlp_grpc::endpoint": "backend.example:4319"}},
	"OTLP_HEADERS": {"{authorization: Bearer sesame, x-scope: lab}", map[string]any{"exporters::otlp_grpc::headers": []any{
		map[string]any{"name": "authorization", "value": "Bearer sesame"}, map[string]any{"name": "x-scope", "value": "lab"},
	}}},
	"OTLP_INSECURE":    {"false", map[string]any{"exporters::otlp_grpc::tls::insecure": nil}}, // false is not printed
	"K8S_NODE_NAME":    {"node-b", map[string]any{"receivers::gpu::attribution::node_name": "node-b"}},
	"K8S_CLUSTER_NAME": {"lab", map[string]any{"receivers::gpu::attribution::cluster_name": "lab"}},
}

// The shipped configurations take the variables that docs/reference/environment.md lists.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	documented, err := os.ReadFile(filepath.Join(root(t), "docs", "reference", "environment.md"))
	require.NoError(t, err)
	for variable := range environment {
		assert.Contains(t, string(documented), "| `"+variable+"` |")
	}
	for config, without := range map[string][]string{
		"agent.yaml": nil, "agent-kubernetes.yaml": nil, "amd.yaml": nil, "k8s-attributes.yaml": nil,
		"cluster.yaml": {"K8S_NODE_NAME"},
		"exec.yaml":    {"K8S_NODE_NAME", "K8S_CLUSTER_NAME", "EXPORTER_PORT", "COLLECTION_INTERVAL"}, // looked at below
		"gateway.yaml": {"K8S_NODE_NAME", "K8S_CLUSTER_NAME", "EXPORTER_PORT", "COLLECTION_INTERVAL"},
	} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, true, printConfig(t, config, "OTLP_INSECURE=true").Get("exporters::otlp_grpc::tls::insecure"))
			printed := printConfig(t, config)
			for variable, set := range environment {
				if slices.Contains(without, variable) {
					continue
				}
				for key, want := range set.keys {
					assert.Equal(t, want, printed.Get(key), "%s: %s", variable, key)
				}
			}
			if config == "exec.yaml" {
				assert.InEpsilon(t, float64(7*time.Second), printed.Get("receivers::gpu::collection_interval"), 0)
				clusters, ok := printed.Get("receivers::gpu::scrapers::kubernetes_exec::clusters").([]any)
				require.True(t, ok)
				assert.Equal(t, "lab", clusters[0].(map[string]any)["name"])
			}
		})
	}
	for _, config := range []string{"agent.yaml", "amd.yaml", "agent-prometheus.yaml"} {
		assert.Contains(t, fmt.Sprint(printConfig(t, config).Get("service::telemetry::metrics::readers")), "192.0.2.1", config)
	}
	t.Run("demo.yaml", func(t *testing.T) {
		t.Parallel()
		printed := printConfig(t, "demo.yaml", "GPU_NVML_LIBRARY="+simulator(t).Full)
		assert.Equal(t, "127.0.0.1:9555", printed.Get("exporters::prometheus::endpoint"))
		assert.Equal(t, "warn", printed.Get("service::telemetry::logs::level"))
	})
	t.Run("run.yaml", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, "127.0.0.1:9555", printConfig(t, "run.yaml").Get("exporters::prometheus::endpoint"))
	})
}

// printConfig returns a shipped configuration as the collector reads it with every variable set.
func printConfig(t *testing.T, config string, more ...string) *confmap.Conf {
	t.Helper()
	var variables []string
	for variable, set := range environment {
		variables = append(variables, variable+"="+set.value)
	}
	process, err := harness.Start(harness.Options{
		Binary: binary(t), Dir: t.TempDir(), Env: append(variables, more...),
		Args: []string{"print-config", harness.FeatureGates, "--format=json", "--mode=unredacted", "--config=" + filepath.Join(root(t), "config", config)},
	})
	require.NoError(t, err)
	code, err := process.Wait(patience)
	require.NoError(t, err)
	require.Zero(t, code, process.Output())
	var printed map[string]any
	require.NoError(t, json.Unmarshal([]byte(strings.TrimSpace(process.Output())), &printed), process.Output())
	return confmap.NewFromStringMap(printed)
}

// A wrong value stops the collector with an error that has the key, and no secret.
func TestWrongEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ variable, want string }{
		"word as interval":       {"COLLECTION_INTERVAL=often", `collection_interval: must be a duration with a unit (h, m, s or ms), such as 30s or 1h30m, got "often"`},
		"interval without unit":  {"COLLECTION_INTERVAL=30", "receivers::gpu: collection_interval: 30ns is too short; give it a unit, such as 30s"},
		"unknown level":          {"LOG_LEVEL=loud", `'level' unrecognized level: "loud"`},
		"headers as text":        {"OTLP_HEADERS=authorization=sesame", "'headers'"},
		"insecure as text":       {"OTLP_INSECURE=maybe", "'tls.insecure'"},
		"endpoint without port":  {"OTLP_ENDPOINT=backend.example", "exporters::otlp_grpc"},
		"port that is no number": {"EXPORTER_PORT=metrics-page", `"prometheus"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process, err := harness.Start(harness.Options{
				Binary: binary(t), Dir: t.TempDir(), Env: []string{c.variable, "HOSTNAME=machine"},
				Args: []string{"--config", filepath.Join(root(t), "config", "agent.yaml")},
			})
			require.NoError(t, err)
			t.Cleanup(process.Kill)
			code, err := process.Wait(patience)
			require.NoError(t, err)
			assert.NotZero(t, code)
			assert.Contains(t, process.Output(), c.want)
			assert.NotContains(t, process.Output(), "sesame")
		})
	}
}
