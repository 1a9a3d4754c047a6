// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/exporter/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// fakeStore is a fleet that counts what it gets.
type fakeStore struct {
	*viewtest.Reader

	opened, started, ended, metrics, logs atomic.Int64
}

func newFakeStore() *fakeStore { return &fakeStore{Reader: viewtest.NewReader(viewtest.Snapshot())} }

func (f *fakeStore) ConsumeMetrics(pmetric.Metrics) { f.metrics.Add(1) }
func (f *fakeStore) ConsumeLogs(plog.Logs)          { f.logs.Add(1) }
func (f *fakeStore) Start()                         { f.started.Add(1) }
func (f *fakeStore) Shutdown()                      { f.ended.Add(1) }

func newTestFactory(f *fakeStore) *factory {
	return &factory{open: func(*Config, *zap.Logger) store {
		f.opened.Add(1)
		return f
	}}
}

// all returns the instance of each configuration.
func (f *factory) all() map[*Config]*instance {
	var all map[*Config]*instance
	_, _, _ = f.instances.Get(&Config{}, func(others map[*Config]*instance) (*instance, error) {
		all = maps.Clone(others)
		return nil, errors.New("only the others are of interest")
	})
	return all
}

func nopSettings() exporter.Settings { return exportertest.NewNopSettings(metadata.Type) }

// The metrics and the logs exporter of one configuration share one fleet and one server. The server lives from the first start to the
// last shutdown.
func TestSignalsShareOneView(t *testing.T) {
	fleet := newFakeStore()
	f := newTestFactory(fleet)
	cfg := testConfig()
	ctx, host := t.Context(), componenttest.NewNopHost()
	metrics, err := f.createMetrics(ctx, nopSettings(), cfg)
	require.NoError(t, err)
	logs, err := f.createLogs(ctx, nopSettings(), cfg)
	require.NoError(t, err)
	assert.EqualValues(t, 1, fleet.opened.Load())

	require.NoError(t, metrics.Start(ctx, host))
	url := f.all()[cfg].server.url() + "healthz"
	assert.Equal(t, http.StatusOK, get(t, url).status)
	require.NoError(t, logs.Start(ctx, host))
	assert.Equal(t, url, f.all()[cfg].server.url()+"healthz")
	assert.EqualValues(t, 1, fleet.started.Load())

	require.NoError(t, metrics.ConsumeMetrics(ctx, pmetric.NewMetrics()))
	require.NoError(t, logs.ConsumeLogs(ctx, plog.NewLogs()))
	assert.EqualValues(t, 1, fleet.metrics.Load())
	assert.EqualValues(t, 1, fleet.logs.Load())
	assert.False(t, metrics.Capabilities().MutatesData)

	require.NoError(t, metrics.Shutdown(ctx))
	assert.Equal(t, http.StatusOK, get(t, url).status)
	assert.Zero(t, fleet.ended.Load())
	require.NoError(t, logs.Shutdown(ctx))
	assert.EqualValues(t, 1, fleet.ended.Load())
	assert.Empty(t, f.all())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	_, err = newClient().Do(request) //nolint:bodyclose // no answer
	require.Error(t, err)
}

// Two configurations are two views.
func TestConfigurationsAreApart(t *testing.T) {
	fleet := newFakeStore()
	f := newTestFactory(fleet)
	for range 2 {
		e, err := f.createMetrics(t.Context(), nopSettings(), testConfig())
		require.NoError(t, err)
		require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
		t.Cleanup(func() { require.NoError(t, e.Shutdown(context.Background())) })
	}
	assert.EqualValues(t, 2, fleet.opened.Load())
	assert.Len(t, f.all(), 2)
}

// A port that another program has is an error that says so, for each signal, and leaves nothing running.
func TestPortInUse(t *testing.T) {
	other := startServer(t, testConfig(), componenttest.NewNopHost(), http.NotFoundHandler())
	cfg := testConfig()
	cfg.Server.NetAddr.Endpoint = other.listener.Addr().String()
	fleet := newFakeStore()
	f := newTestFactory(fleet)
	metrics, err := f.createMetrics(t.Context(), nopSettings(), cfg)
	require.NoError(t, err)
	logs, err := f.createLogs(t.Context(), nopSettings(), cfg)
	require.NoError(t, err)
	for _, e := range []component.Component{metrics, logs} {
		err := e.Start(t.Context(), componenttest.NewNopHost())
		require.ErrorContains(t, err, "listen on "+cfg.Server.NetAddr.Endpoint)
		require.ErrorContains(t, err, "another endpoint")
	}
	require.NoError(t, metrics.Shutdown(t.Context()))
	require.NoError(t, logs.Shutdown(t.Context()))
	assert.EqualValues(t, 1, fleet.ended.Load())
}

// Two views that would listen on one endpoint are refused when they are made, so also by validate. On port 0 each has a port of its own.
func TestOneEndpointForTwoViews(t *testing.T) {
	for endpoint, refused := range map[string]bool{"127.0.0.1:9410": true, "127.0.0.1:0": false} {
		f := newTestFactory(newFakeStore())
		first, second := testConfig(), testConfig()
		first.Server.NetAddr.Endpoint, second.Server.NetAddr.Endpoint = endpoint, endpoint
		_, err := f.createMetrics(t.Context(), nopSettings(), first)
		require.NoError(t, err)
		_, err = f.createLogs(t.Context(), nopSettings(), first)
		require.NoError(t, err)
		_, err = f.createLogs(t.Context(), nopSettings(), second)
		if refused {
			require.ErrorContains(t, err, "another gpu_view listens on "+endpoint)
		} else {
			require.NoError(t, err)
		}
	}
}
