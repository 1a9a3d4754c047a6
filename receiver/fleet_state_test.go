// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// A cluster's own state is sent with its name and without a node, as events too, and is a part of the component's status.
func TestFleetSendsStates(t *testing.T) {
	cfg := fleetConfig(t, prod())
	metrics, logs := &consumertest.MetricsSink{}, &consumertest.LogsSink{}
	core, said := observer.New(zap.InfoLevel)
	f := stoppedFleet(t, cfg, zap.New(core), metrics, logs)
	host := &statusHost{Host: componenttest.NewNopHost()}
	f.status.reportTo(host)
	now := time.Unix(1_700_000_000, 0)
	refused := &gpu.Failure{Reason: gpu.FailureAPIUnreachable, Err: errors.New("kubernetes_exec: cluster prod: connection refused")}
	forbidden := &gpu.Failure{Reason: gpu.FailureAPIForbidden, Err: errors.New("kubernetes_exec: cluster prod: forbidden")}
	for _, failure := range []*gpu.Failure{refused, refused, forbidden, nil} {
		now = now.Add(30 * time.Second)
		f.sendState(t.Context(), "prod", now, failure)
	}
	require.Len(t, metrics.AllMetrics(), 4)
	for i, want := range []map[string]float64{
		{"readable": 0, "api_unreachable": 1},
		{"readable": 0, "api_unreachable": 1},
		{"readable": 0, "api_unreachable": 0, "api_forbidden": 1},
		{"readable": 1, "api_unreachable": 0, "api_forbidden": 0},
	} {
		got := map[string]float64{}
		for _, p := range otlptest.Points(metrics.AllMetrics()[i]) {
			assert.Equal(t, "kubernetes_exec", p.Attributes["hw.gpu.source.name"])
			assert.Equal(t, "prod", p.Attributes["k8s.cluster.name"])
			assert.NotContains(t, p.Attributes, "k8s.node.name")
			assert.NotContains(t, p.Attributes, "hw.vendor")
			assert.Equal(t, map[string]any{"k8s.cluster.name": "prod"}, p.Resource)
			switch p.Metric {
			case "hw.gpu.source.readable":
				got["readable"] = p.Value
			case "hw.gpu.source.failure":
				got[p.Attributes["error.type"].(string)] = p.Value
			default:
				assert.Fail(t, p.Metric)
			}
		}
		assert.Equal(t, want, got, i)
	}
	var events []string
	for _, message := range logs.AllLogs() {
		for _, record := range message.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			events = append(events, record.EventName()+" "+record.Body().AsString())
		}
	}
	assert.Equal(t, []string{
		"hw.gpu.source.failed kubernetes_exec cannot be read: kubernetes_exec: cluster prod: connection refused",
		"hw.gpu.source.failed kubernetes_exec cannot be read: kubernetes_exec: cluster prod: forbidden",
		"hw.gpu.source.recovered kubernetes_exec is readable again",
	}, events)
	reported := host.statuses()
	require.Len(t, reported, 2)
	assert.Equal(t, componentstatus.StatusRecoverableError, reported[0].Status())
	require.ErrorIs(t, reported[0].Err(), refused)
	assert.Equal(t, componentstatus.StatusOK, reported[1].Status())
	assert.Zero(t, said.Len(), "the cluster's problems are logged apart, and nothing is read")
}

// How much is read is logged when it changes.
func TestFleetLogsItsSize(t *testing.T) {
	cfg := fleetConfig(t, prod())
	core, said := observer.New(zap.InfoLevel)
	f := stoppedFleet(t, cfg, zap.New(core), nil, nil)
	refused := &gpu.Failure{Reason: gpu.FailureAPIUnreachable, Err: errors.New("refused")}
	eight := kubeexec.NodeStats{Node: "a", Vendor: gpu.NVIDIA, Read: true, Success: true, GPUs: 8}
	failed := kubeexec.NodeStats{Node: "b", Vendor: gpu.NVIDIA, Read: true}
	missing := kubeexec.NodeStats{Node: "c", Vendor: gpu.NVIDIA, Read: true, Success: true, GPUs: 8, Unreadable: "no pod"}
	read := func(stats ...kubeexec.ClusterStats) {
		f.reader = statsOf(stats)
		f.logSize()
	}
	read(kubeexec.ClusterStats{Name: "prod"})
	assert.Zero(t, said.Len())
	for range 3 {
		read(kubeexec.ClusterStats{Name: "prod", Known: true, Nodes: []kubeexec.NodeStats{eight, failed, missing}},
			kubeexec.ClusterStats{Name: "dead", Known: true, Failure: refused})
	}
	require.Equal(t, 1, said.Len())
	assert.Equal(t, map[string]any{"scraper": "kubernetes_exec", "clusters": int64(1), "nodes": int64(1), "gpus": int64(8)}, said.All()[0].ContextMap())
	read(kubeexec.ClusterStats{Name: "prod", Known: true, Failure: refused})
	assert.Equal(t, 2, said.Len())
}

// A cluster that never answers is visible in everything that the receiver sends and says.
func TestClusterThatNeverAnswers(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	r := newRigOf(t, openSource)
	r.cfg = fleetConfig(t, map[string]any{"name": "gone", "endpoint": "https://127.0.0.1:1", "token_file": token})
	host := &statusHost{Host: r.host}
	m := r.newMetrics()
	require.NoError(t, m.Start(t.Context(), host))
	eventually(t, func() bool { return r.metrics.DataPointCount() > 0 && len(host.statuses()) > 0 }, "nothing was sent")
	require.NoError(t, m.Shutdown(t.Context()))
	points := otlptest.Points(r.metrics.AllMetrics()[0])
	assert.Equal(t, []string{"hw.gpu.source.failure", "hw.gpu.source.readable"}, otlptest.Names(points))
	assert.Equal(t, "gone", points[0].Attributes["k8s.cluster.name"])
	require.ErrorContains(t, host.statuses()[0].Err(), "connection refused")
}

// The known GPUs of a node that cannot be read are sent by their identity.
func TestFleetSendsKnownGPUs(t *testing.T) {
	cfg := fleetConfig(t, prod())
	sink, logs := &consumertest.MetricsSink{}, &consumertest.LogsSink{}
	f := stoppedFleet(t, cfg, zap.NewNop(), sink, logs)
	f.send(t.Context(), "prod", nodeRead("a", healthy("GPU-1")), nil)
	unread := nodeRead("a", gpu.Device{ID: "GPU-1", Vendor: gpu.NVIDIA, Unread: true, ProcessesUnread: true})
	unread.Presence = [gpu.NumPresences]gpu.Opt[int64]{}
	f.send(t.Context(), "prod", unread, &gpu.Failure{Reason: gpu.FailureContainerMissing, Err: errors.New("no pod")})
	f.send(t.Context(), "prod", nodeRead("a", healthy("GPU-1")), nil)
	require.Len(t, sink.AllMetrics(), 3)
	points := otlptest.Points(sink.AllMetrics()[1])
	assert.Equal(t, []string{"hw.gpu.info", "hw.gpu.source.failure", "hw.gpu.source.readable"}, otlptest.Names(points))
	assert.Equal(t, "container_missing", otlptest.Of(points, "hw.gpu.source.failure")[0].Attributes["error.type"])
	var events []string
	for _, message := range logs.AllLogs() {
		events = append(events, message.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).EventName())
	}
	assert.Equal(t, []string{"hw.gpu.source.failed", "hw.gpu.source.recovered"}, events, "no GPU has changed its state")
}
