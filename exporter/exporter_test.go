// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

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

// patience is for conditions that are fulfilled soon.
const patience = time.Minute

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
	return &factory{instances: newRegistry(func(*Config, *zap.Logger) store {
		f.opened.Add(1)
		return f
	})}
}

// testConfig listens on a free port of the loopback, and gives a busy machine time for requests and answers.
func testConfig() *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Server.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Server.ReadHeaderTimeout, cfg.Server.WriteTimeout = patience, patience
	return cfg
}

func nopSettings() exporter.Settings { return exportertest.NewNopSettings(metadata.Type) }

// hostWith is a host with extensions.
type hostWith map[component.ID]component.Component

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h }

// startServer starts a server that the test's end closes.
func startServer(t *testing.T, cfg *Config, host component.Host, handler http.Handler) *server {
	t.Helper()
	require.NoError(t, cfg.Validate())
	s, err := listen(t.Context(), cfg, host, componenttest.NewNopTelemetrySettings(), handler)
	require.NoError(t, err)
	s.serve(func(err error) { t.Error(err) })
	t.Cleanup(s.close)
	return s
}

// answer is what a server says.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request on a connection of its own.
func ask(t *testing.T, client *http.Client, request *http.Request) answer {
	t.Helper()
	response, err := client.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(body)}
}

// newClient returns a client that leaves no connection behind.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
}

func get(t *testing.T, url string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	return ask(t, newClient(), request)
}

// answers asks until a server answers. It is for servers with a limit that is shorter than a busy machine may take for a request.
func answers(t *testing.T, client *http.Client, url string) {
	t.Helper()
	require.Eventually(t, func() bool {
		response, err := client.Get(url)
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode == http.StatusOK
	}, patience, time.Millisecond)
}

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
	url := f.instances.instances[cfg].server.url() + "healthz"
	assert.Equal(t, http.StatusOK, get(t, url).status)
	require.NoError(t, logs.Start(ctx, host))
	assert.Equal(t, url, f.instances.instances[cfg].server.url()+"healthz")
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
	assert.Empty(t, f.instances.instances)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	_, err = newClient().Do(request) //nolint:bodyclose // there is no answer
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
	assert.Len(t, f.instances.instances, 2)
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
