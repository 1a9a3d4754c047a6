// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/otelgpu/gpureceiver/exporter/kubernetes/internal/metadata"
)

// server takes Events.
type server struct {
	mu     sync.Mutex
	events []corev1.Event
	others []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	event, ok := object.(*corev1.Event)
	if err != nil || !ok || r.Method != http.MethodPost {
		s.others = append(s.others, r.Method+" "+r.URL.Path)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.events = append(s.events, *event)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(event)
}

func (s *server) postedEvents() []corev1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]corev1.Event{}, s.events...)
}

// The metrics and the logs exporter of a configuration are one: the pod of a record has the UID that the metrics have.
func TestMetricsAndLogsTogether(t *testing.T) {
	api := &server{}
	listener := httptest.NewServer(api)
	defer listener.Close()
	cfg, err := load(map[string]any{"endpoint": listener.URL, "auth_type": "none", "events": map[string]any{}})
	require.NoError(t, err)
	factory, set, host := NewFactory(), exportertest.NewNopSettings(metadata.Type), componenttest.NewNopHost()
	metrics, err := factory.CreateMetrics(t.Context(), set, cfg)
	require.NoError(t, err)
	logs, err := factory.CreateLogs(t.Context(), set, cfg)
	require.NoError(t, err)
	require.NoError(t, metrics.Start(t.Context(), host))
	require.NoError(t, logs.Start(t.Context(), host))

	points := pmetric.NewMetrics()
	require.NoError(t, points.ResourceMetrics().AppendEmpty().Resource().Attributes().FromRaw(map[string]any{
		"k8s.node.name": "node-a", "k8s.namespace.name": "team", "k8s.pod.name": "train-0", "k8s.pod.uid": "0f8a5c1e-6b0d-4b51-9c43-0a4c1f2f7f11",
	}))
	require.NoError(t, metrics.ConsumeMetrics(t.Context(), points))
	records := plog.NewLogs()
	for _, node := range []string{"node-a", ""} {
		resource := records.ResourceLogs().AppendEmpty()
		resource.Resource().Attributes().PutStr("k8s.node.name", node)
		record := newRecord("hw.gpu.xid", plog.SeverityNumberError, "XID 79", map[string]any{"hw.gpu.held_by": []any{"team/train-0/main"}})
		record.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
		record.CopyTo(resource.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty())
	}
	require.NoError(t, logs.ConsumeLogs(t.Context(), records))
	require.NoError(t, metrics.Shutdown(t.Context()))
	require.Eventually(t, func() bool { return len(api.postedEvents()) == 2 }, patience, time.Millisecond)
	require.NoError(t, logs.Shutdown(t.Context()))
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()

	events := api.postedEvents()
	require.Len(t, events, 2)
	assert.Equal(t, "node-a", events[0].InvolvedObject.Name)
	assert.Equal(t, "0f8a5c1e-6b0d-4b51-9c43-0a4c1f2f7f11", string(events[1].InvolvedObject.UID))
	assert.Empty(t, api.others)
}

// GPU data without a node is not posted, which is logged once with what to do. Data that never has a node does not cause this warning.
func TestDataWithoutNode(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	set := exportertest.NewNopSettings(metadata.Type)
	set.Logger = zap.New(core)
	i, err := newInstance(&Config{}, set)
	require.NoError(t, err)
	i.events = newEventPoster(fake.NewClientset().CoreV1(), zap.NewNop(), i.counts) // not started

	send := func(name string, attributes map[string]any) {
		t.Helper()
		records := plog.NewLogs()
		record := newRecord(name, plog.SeverityNumberError, "what happened", attributes)
		record.CopyTo(records.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty())
		require.NoError(t, i.consumeLogs(t.Context(), records))
	}
	send("k8s.pod.gpu.finished", map[string]any{"k8s.pod.name": "train-0"})
	send("hw.gpu.source.failed", nil)
	measured := pmetric.NewMetrics()
	metric := measured.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("k8s.cluster.gpu.pod.pending")
	require.NoError(t, i.consumeMetrics(t.Context(), measured))
	assert.Zero(t, logged.Len())

	metric.SetName("hw.status")
	for range 2 {
		send("hw.gpu.xid", map[string]any{"hw.id": "GPU-1"})
		require.NoError(t, i.consumeMetrics(t.Context(), measured))
	}
	require.Equal(t, 1, logged.Len())
	assert.Contains(t, logged.All()[0].ContextMap()["remedy"], "attribution::node_name")
	assert.Empty(t, i.events.queue)
}

// What an exporter posts by a signal that no pipeline brings is warned of, once.
func TestSettingsWithoutTheirSignal(t *testing.T) {
	listener := httptest.NewServer(&server{})
	defer listener.Close()
	for _, c := range []struct {
		settings      string
		metrics, logs bool
		want          string
	}{
		{"node_condition", false, true, "node_condition: has no effect without a metrics pipeline"},
		{"node_condition", true, true, ""},
		{"events", true, false, "events: has no effect without a logs pipeline"},
		{"events", true, true, ""},
	} {
		cfg, err := load(map[string]any{"endpoint": listener.URL, "auth_type": "none", c.settings: map[string]any{}})
		require.NoError(t, err)
		core, logged := observer.New(zap.WarnLevel)
		factory, set := NewFactory(), exportertest.NewNopSettings(metadata.Type)
		set.Logger = zap.New(core)
		var all []component.Component
		if c.metrics {
			e, err := factory.CreateMetrics(t.Context(), set, cfg)
			require.NoError(t, err)
			all = append(all, e)
		}
		if c.logs {
			e, err := factory.CreateLogs(t.Context(), set, cfg)
			require.NoError(t, err)
			all = append(all, e)
		}
		for _, e := range all {
			require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
		}
		for _, e := range all {
			require.NoError(t, e.Shutdown(t.Context()))
		}
		got := logged.FilterMessageSnippet("has no effect").All()
		if c.want == "" {
			assert.Empty(t, got)
			continue
		}
		require.Len(t, got, 1)
		assert.Contains(t, got[0].Message, c.want)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
