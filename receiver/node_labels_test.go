// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// nodeAPI is an API server that knows node-a, unless it refuses.
func nodeAPI(t *testing.T, refuses bool) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path != "/api/v1/nodes/node-a" || refuses {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",
			"metadata":{"name":"node-a","labels":{"zone":"z1","nvidia.com/gpu.product":"H100","other":"x"}}}`))
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// The first metrics and the events of an agent have the labels of its node; processes and containers have not.
func TestNodeLabels(t *testing.T) {
	url, requests := nodeAPI(t, false)
	r := newRig(t, map[string]gpu.Source{"nvml": always(lost("GPU-1"))})
	r.cfg.Attribution.NodeLabels = &attribution.NodeLabelsConfig{
		API: kube.Config{Endpoint: url, AuthType: kube.AuthNone}, Labels: []string{"zone", "nvidia.com/*"},
	}
	r.run(r.newMetrics(), r.newLogs())
	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 && r.logs.LogRecordCount() > 0 }, "it runs")
	want := map[string]any{
		"host.name": "node-a", "k8s.node.name": "node-a", "k8s.node.label.zone": "z1", "k8s.node.label.nvidia.com/gpu.product": "H100",
	}
	points := otlptest.Points(r.metrics.AllMetrics()[0])
	require.NotEmpty(t, points)
	for _, p := range points {
		assert.Equal(t, want, p.Resource, p.Metric)
	}
	attributes := r.logs.AllLogs()[0].ResourceLogs().At(0).Resource().Attributes()
	for name, value := range want {
		got, ok := attributes.Get(name)
		assert.True(t, ok, name)
		assert.Equal(t, value, got.Str())
	}
	assert.EqualValues(t, 1, requests.Load(), "once, not at every read")
}

// Without the permission the GPUs are still read, and the log says what to grant.
func TestNodeLabelsRefused(t *testing.T) {
	url, _ := nodeAPI(t, true)
	r := newRig(t, map[string]gpu.Source{"nvml": always(healthy("GPU-1"))})
	r.cfg.Attribution.NodeLabels = &attribution.NodeLabelsConfig{API: kube.Config{Endpoint: url, AuthType: kube.AuthNone}, Labels: []string{"zone"}}
	r.run(r.newMetrics())
	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "it runs")
	for _, p := range otlptest.Points(r.metrics.AllMetrics()[0]) {
		assert.NotContains(t, p.Resource, "k8s.node.label.zone")
	}
	assert.Contains(t, fmt.Sprint(r.log.All()[0].ContextMap()), "grant get on nodes")
}
