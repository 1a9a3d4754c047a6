// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

func fleetConfig(t *testing.T, cluster map[string]any) *Config {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"max_processes": 1,
		"scrapers":      map[string]any{"kubernetes_exec": map[string]any{"clusters": []any{cluster}}},
	}).Unmarshal(cfg))
	return cfg
}

func TestFleetSendsNodeByNode(t *testing.T) {
	cfg := fleetConfig(t, map[string]any{"name": "prod", "auth_type": "serviceAccount"})
	require.NoError(t, cfg.Validate())
	set := receivertest.NewNopSettings(metadata.Type)
	core, logs := observer.New(zap.InfoLevel)
	set.Logger = zap.New(core)
	sink := &consumertest.MetricsSink{}
	f, err := newFleet(cfg, set, sink)
	require.NoError(t, err)

	read := func(name string) {
		f.send(t.Context(), "prod", &gpu.Node{
			Vendor: gpu.NVIDIA, Time: time.Now(), Host: gpu.Host{NodeName: name, ClusterName: "prod"},
			Devices:   []gpu.Device{{Info: gpu.Info{PCIAddress: "0000:01:00.0"}, Vendor: gpu.NVIDIA}},
			Processes: []gpu.Process{{PID: 1, Memory: gpu.Some[int64](1)}, {PID: 2, Memory: gpu.Some[int64](2)}},
		}, nil)
	}
	read("a")
	read("b")
	require.Len(t, sink.AllMetrics(), 2, "a message for each node")
	for i, name := range []string{"a", "b"} {
		resource := sink.AllMetrics()[i].ResourceMetrics().At(0).Resource().Attributes()
		node, _ := resource.Get("k8s.node.name")
		assert.Equal(t, name, node.Str())
		_, own := resource.Get("host.name")
		assert.False(t, own, "the collector's host is another machine")
		assert.Equal(t, 2, sink.AllMetrics()[i].ResourceMetrics().Len(), "the host, and the one process that is allowed")
	}

	for range 3 {
		f.send(t.Context(), "prod", &gpu.Node{Vendor: gpu.NVIDIA, Host: gpu.Host{NodeName: "a"}}, errors.New("exec: refused"))
	}
	assert.Len(t, sink.AllMetrics(), 2)
	assert.Equal(t, 1, logs.FilterLevelExact(zap.WarnLevel).Len(), "explained once")

	f.forget("prod", "a")
	assert.Len(t, f.nodes, 1)
}

func TestFleetWithoutCluster(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	cfg := fleetConfig(t, map[string]any{"name": "gone", "endpoint": "https://127.0.0.1:1", "token_file": token})
	require.NoError(t, cfg.Validate())
	r, err := NewFactory().CreateMetrics(t.Context(), receivertest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()), "a cluster that does not answer is no error")
	require.NoError(t, r.Shutdown(context.Background()))
}

func TestFleetConfig(t *testing.T) {
	cfg := fleetConfig(t, map[string]any{"auth_type": "nonsense"})
	err := cfg.Validate()
	require.ErrorContains(t, err, "scrapers::kubernetes_exec::clusters")
	assert.ErrorContains(t, err, "name")
}
