// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/test/reference"
)

func load(settings map[string]any) (*Config, error) {
	cfg := createDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(settings).Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestConfiguration(t *testing.T) {
	cfg, err := load(map[string]any{"auth_type": "kubeConfig", "context": "prod", "node_name": "node-a", "events": map[string]any{}})
	require.NoError(t, err)
	assert.Equal(t, kube.Config{AuthType: kube.AuthKubeConfig, Context: "prod", QPS: 50, Burst: 100}, cfg.API)
	assert.True(t, cfg.Events.HasValue())
}

func TestWrongConfigurations(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]any
		want     string
	}{
		"nothing to do":  {nil, "events, node_condition: nothing is posted without either"},
		"unknown":        {map[string]any{"event": map[string]any{}}, "event: there is no such setting; allowed are "},
		"unknown inside": {map[string]any{"events": map[string]any{"all": true}}, "events::all: there is no such setting; allowed are enabled"},
		"duration":       {map[string]any{"node_condition": map[string]any{"unknown_after": "1d"}}, `node_condition::unknown_after: must be a duration with a unit (h, m, s or ms), such as 30s or 1h30m, got "1d"`},
		"number":         {map[string]any{"kube_api_burst": 1.5, "events": nil}, "kube_api_burst: must be a whole number, got 1.5"},
		"silence":        {map[string]any{"node_condition": map[string]any{"unknown_after": "1s"}}, "node_condition::unknown_after: "},
		"auth":           {map[string]any{"auth_type": "tls", "events": map[string]any{}}, "auth_type: "},
		"node":           {map[string]any{"node_name": "Node A", "events": map[string]any{}}, "node_name: "},
	} {
		_, err := load(c.settings)
		require.ErrorContains(t, err, c.want, name)
	}
}

// Only data of the configured node and cluster is posted, and nothing without a node.
func TestNodeOf(t *testing.T) {
	for _, c := range []struct {
		cfg           Config
		node, cluster string
		want          bool
	}{
		{Config{}, "node-a", "", true},
		{Config{}, "", "", false},
		{Config{}, "../secrets", "", false},
		{Config{NodeName: "node-a"}, "node-a", "any", true},
		{Config{NodeName: "node-a"}, "node-b", "any", false},
		{Config{ClusterName: "prod"}, "node-a", "prod", true},
		{Config{ClusterName: "prod"}, "node-a", "test", false},
		{Config{ClusterName: "prod"}, "node-a", "", false},
	} {
		resource := pcommon.NewMap()
		resource.PutStr("k8s.node.name", c.node)
		resource.PutStr("k8s.cluster.name", c.cluster)
		_, ok := c.cfg.nodeOf(resource)
		assert.Equal(t, c.want, ok, "%+v", c)
	}
}

// Each key is documented with its type and default, and no other key.
func TestKeysAreDocumented(t *testing.T) {
	pages := reference.Read(t, filepath.Join("..", ".."))
	settings := reference.Settings("", createDefaultConfig(), func(_ string, typ reflect.Type) bool { return typ == reflect.TypeFor[kube.Config]() })
	reference.Compare(t, pages.Documented(map[string]string{"exporters::gpu_kubernetes": ""}), settings, nil)
	for key, value := range map[string]any{"`kube_api_qps`": defaultQPS, "`kube_api_burst`": defaultBurst} {
		for _, row := range pages.Tables["Key for the Kubernetes API"] {
			if row[0] == key {
				assert.Contains(t, row[3], fmt.Sprintf("`gpu_kubernetes` has `%v`", value))
			}
		}
	}
}

// Each example is accepted, and each setting of the exporter's own is in one.
func TestExamplesAreAccepted(t *testing.T) {
	names := map[string]bool{}
	for _, example := range reference.Read(t, filepath.Join("..", "..")).Examples {
		for _, settings := range example.Components("exporters", "gpu_kubernetes") {
			_, err := load(settings)
			require.NoError(t, err, example.Text)
			reference.Given("", settings, names)
		}
	}
	for _, key := range []string{"node_name", "cluster_name", "events", "node_condition", "node_condition::unknown_after"} {
		assert.True(t, names[key], "%s: no example has this key", key)
	}
}
