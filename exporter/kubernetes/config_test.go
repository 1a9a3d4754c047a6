// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/kube"
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
		"unknown":        {map[string]any{"event": map[string]any{}}, "event"},
		"unknown inside": {map[string]any{"events": map[string]any{"all": true}}, "all"},
		"silence":        {map[string]any{"node_condition": map[string]any{"unknown_after": "1s"}}, "node_condition::unknown_after: "},
		"auth":           {map[string]any{"auth_type": "tls", "events": map[string]any{}}, "auth_type: "},
		"node":           {map[string]any{"node_name": "Node A", "events": map[string]any{}}, "node_name: "},
	} {
		_, err := load(c.settings)
		require.ErrorContains(t, err, c.want, name)
	}
}

// Only data of the configured node and cluster are posted, and none without a node.
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

var documentedConfiguration = regexp.MustCompile("(?s)```yaml\n([^`]*gpu_kubernetes:[^`]*)```")

// The configuration of docs/reference/configuration.md is valid as it is written there.
func TestDocumentedConfiguration(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "configuration.md"))
	require.NoError(t, err)
	blocks := documentedConfiguration.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 1)
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(blocks[0][1]))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	settings, err := conf.Sub("exporters::gpu_kubernetes")
	require.NoError(t, err)
	cfg, err := load(settings.ToStringMap())
	require.NoError(t, err)
	assert.Equal(t, "prod", cfg.ClusterName)
	assert.True(t, cfg.Events.HasValue())
	assert.True(t, cfg.NodeCondition.HasValue())
	assert.Equal(t, []any{"gpu_kubernetes"}, conf.Get("service::pipelines::metrics::exporters"))
}
