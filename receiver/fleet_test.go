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
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
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

// prod is a cluster that does not answer.
func prod() map[string]any {
	return map[string]any{"name": "prod", "endpoint": "https://127.0.0.1:1", "auth_type": "none"}
}

// stoppedFleet is a fleet with these consumers that reads nothing by itself.
func stoppedFleet(t *testing.T, cfg *Config, logger *zap.Logger, metrics consumer.Metrics, logs consumer.Logs) *fleet {
	t.Helper()
	set := receivertest.NewNopSettings(metadata.Type)
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	require.NoError(t, err)
	common := &shared{receiver: "gpu", cfg: cfg, logger: logger, telemetry: telemetry, status: &componentStatus{}}
	if metrics != nil {
		common.metrics, err = newMetricsOutput(set, metrics)
		require.NoError(t, err)
	}
	if logs != nil {
		common.logs, err = newLogsOutput(set, logs)
		require.NoError(t, err)
	}
	f, err := newFleet(common)
	require.NoError(t, err)
	return f
}

func TestFleetSendsNodeByNode(t *testing.T) {
	cfg := fleetConfig(t, prod())
	require.NoError(t, cfg.Validate())
	core, logs := observer.New(zap.InfoLevel)
	sink := &consumertest.MetricsSink{}
	f := stoppedFleet(t, cfg, zap.New(core), sink, nil)

	read := func(name string) {
		node := &gpu.Node{
			Vendor: gpu.NVIDIA, Time: time.Now(), Host: gpu.Host{NodeName: name, ClusterName: "prod"},
			Devices:   []gpu.Device{{Info: gpu.Info{PCIAddress: "0000:01:00.0"}, Vendor: gpu.NVIDIA}},
			Processes: []gpu.Process{{PID: 1, Memory: gpu.Some[int64](1)}, {PID: 2, Memory: gpu.Some[int64](2)}},
		}
		node.CompleteIDs()
		f.send(t.Context(), "prod", node, nil)
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
	require.Len(t, sink.AllMetrics(), 5)
	failed := otlptest.Points(sink.AllMetrics()[4])
	assert.Equal(t, []string{"hw.gpu.source.failure", "hw.gpu.source.readable"}, otlptest.Names(failed), "a failed read says nothing of the GPUs")
	assert.Equal(t, 1, logs.FilterLevelExact(zap.WarnLevel).Len(), "explained once")
	assert.Equal(t, 1, logs.FilterMessage("Read failed: read on node a in cluster prod").Len(), "no message is that of another node")
	f.logProblems("prod", []gpu.Problem{{Kind: gpu.ProblemKubernetes, What: "nodes", Err: errors.New("forbidden")}})
	assert.Equal(t, 1, logs.FilterMessage("Read failed: nodes in cluster prod").Len())

	f.send(t.Context(), "prod", &gpu.Node{Vendor: gpu.AMD, Host: gpu.Host{NodeName: "a"}}, nil)
	require.Len(t, f.nodes, 2)
	require.Len(t, f.nodes[remoteNode{"prod", "a"}], 2, "by vendor")
	before := len(sink.AllMetrics())
	f.forget(t.Context(), "prod", "a", false)
	assert.Len(t, f.nodes, 1)
	for _, ended := range sink.AllMetrics()[before:] {
		assert.NotEmpty(t, otlptest.Ended(ended), "the series of a node that is gone end")
		assert.Empty(t, otlptest.Points(ended))
	}
	before = len(sink.AllMetrics())
	f.forget(t.Context(), "prod", "b", true)
	assert.Empty(t, f.nodes)
	assert.Len(t, sink.AllMetrics(), before, "another replica goes on with its series")
}

func TestFleetWithoutCluster(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	cfg := fleetConfig(t, map[string]any{"name": "gone", "endpoint": "https://127.0.0.1:1", "token_file": token})
	require.NoError(t, cfg.Validate())
	r := newRigOf(t, openSource)
	r.cfg = cfg
	m, l := r.newMetrics(), r.newLogs()
	require.NoError(t, m.Start(t.Context(), componenttest.NewNopHost()), "a cluster that does not answer is no error")
	require.NoError(t, l.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, l.Shutdown(context.Background()))
	require.NoError(t, m.Shutdown(context.Background()))
}

func TestFleetConfig(t *testing.T) {
	cfg := fleetConfig(t, map[string]any{"auth_type": "nonsense"})
	err := cfg.Validate()
	require.ErrorContains(t, err, "scrapers::kubernetes_exec::clusters")
	assert.ErrorContains(t, err, "name")
}

// nodeRead is a remote read of a node.
func nodeRead(name string, devices ...gpu.Device) *gpu.Node {
	node := nodeOf(devices...)
	node.Time, node.Host = time.Unix(1_700_000_000, 0), gpu.Host{NodeName: name, ClusterName: "prod"}
	return node
}

// Events name their node, and each node's states are tracked separately.
func TestFleetSendsEvents(t *testing.T) {
	cfg := fleetConfig(t, prod())
	for name, metrics := range map[string]*consumertest.MetricsSink{"with metrics": {}, "alone": nil} {
		t.Run(name, func(t *testing.T) {
			sink := &consumertest.LogsSink{}
			var next consumer.Metrics
			if metrics != nil {
				next = metrics
			}
			core, said := observer.New(zap.InfoLevel)
			f := stoppedFleet(t, cfg, zap.New(core), next, sink)
			f.send(t.Context(), "prod", nodeRead("a", healthy("GPU-1")), nil)
			f.send(t.Context(), "prod", nodeRead("b", lost("GPU-2")), nil)
			require.Equal(t, 1, said.Len(), "the log says it, too")
			assert.Equal(t, "b", said.All()[0].ContextMap()["k8s.node.name"])
			f.send(t.Context(), "prod", nodeRead("a"), errors.New("exec: refused"))
			f.send(t.Context(), "prod", nodeRead("a", lost("GPU-1")), nil)
			f.send(t.Context(), "prod", nodeRead("b", healthy("GPU-2")), nil)
			var got []string
			for _, logs := range sink.AllLogs() {
				require.Equal(t, 1, logs.ResourceLogs().Len(), "a message for each node")
				attributes := logs.ResourceLogs().At(0).Resource().Attributes().AsRaw()
				assert.Equal(t, "prod", attributes["k8s.cluster.name"])
				assert.NotContains(t, attributes, "host.name")
				name, _ := attributes["k8s.node.name"].(string)
				for _, record := range logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
					got = append(got, name+" "+transition(record))
				}
			}
			assert.Equal(t, []string{
				"b hw.gpu.status GPU-2: - to failed, Error",
				"a hw.gpu.source.failed -: - to -, Warn",
				"a hw.gpu.source.recovered -: - to -, Info",
				"a hw.gpu.status GPU-1: ok to failed, Error",
				"b hw.gpu.status GPU-2: failed to ok, Info",
			}, got)
			if metrics != nil {
				assert.Len(t, metrics.AllMetrics(), 5)
			}
		})
	}
}

// startedReader counts how often the reads begin.
type startedReader struct {
	statsOf
	starts int
}

func (r *startedReader) Start() { r.starts++ }

// Nothing is read before all receivers have started: their consumers may not be there yet.
func TestFleetWaitsForTheReceivers(t *testing.T) {
	r := newRigOf(t, openSource)
	r.cfg = fleetConfig(t, prod())
	m, l := r.newMetrics(), r.newLogs()
	sources, err := r.instances()[r.cfg].start(t.Context(), r.host)
	require.NoError(t, err)
	reader := &startedReader{}
	sources.fleet.reader = reader
	require.NoError(t, m.Start(t.Context(), r.host))
	assert.Zero(t, reader.starts)
	require.NoError(t, l.Start(t.Context(), r.host))
	assert.Equal(t, 1, reader.starts)
	require.NoError(t, m.Shutdown(t.Context()))
	require.NoError(t, l.Shutdown(t.Context()))
}

// The pipelines of one receiver read the fleet once. Each of them reports a fleet that cannot be started.
func TestFleetIsShared(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	cfg := fleetConfig(t, map[string]any{"name": "prod", "auth_type": "serviceAccount"})
	r := newRigOf(t, openSource)
	r.cfg = cfg
	m, l := r.newMetrics(), r.newLogs()
	require.Len(t, r.instances(), 1, "outside of a cluster it can be made all the same")
	for _, c := range []component.Component{m, l} {
		require.ErrorContains(t, c.Start(t.Context(), componenttest.NewNopHost()), "scrapers::kubernetes_exec::clusters::0: kube: auth_type")
	}
	for _, c := range []component.Component{m, l} {
		require.NoError(t, c.Shutdown(t.Context()))
	}
	assert.Empty(t, r.instances())
}
