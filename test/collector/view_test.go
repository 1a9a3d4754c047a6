// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// askView asks the API of a collector that may not listen yet. It reports whether there was an answer of status 200.
func askView(t *testing.T, url string, into any) bool {
	t.Helper()
	status, body, err := harness.Get(t.Context(), url)
	if err != nil || status != http.StatusOK {
		return false
	}
	require.NoError(t, json.Unmarshal([]byte(body), into), body)
	return true
}

// viewOf returns the GPUs that the API of a collector shows as soon as there are so many.
func viewOf(t *testing.T, view string, gpus int) (all metricsOf) {
	t.Helper()
	eventually(t, patience, strconv.Itoa(gpus)+" GPUs", func() bool {
		all = metricsOf{}
		return askView(t, view+"/api/v1/gpu/metrics?limit=1000", &all) && len(all.GPUs) == gpus
	})
	return all
}

// metricsOf is the answer of /api/v1/gpu/metrics.
type metricsOf = view.Metrics

// The demonstration shows the GPUs of the simulated node, with the values of the same read in the OTLP file.
func TestDemoView(t *testing.T) {
	t.Parallel()
	d := newDemo(t, "demo.yaml")
	process := d.start(t, binary(t), "--config", d.config)
	viewOf(t, d.view, 8)
	var (
		points harness.Points
		shown  view.Metrics
	)
	eventually(t, patience, "view and file of one read", func() bool {
		points, shown = d.written(t), view.Metrics{}
		return askView(t, d.view+"/api/v1/gpu/metrics?limit=1000", &shown) && sameRead(points, shown.GPUs)
	})
	require.Len(t, shown.GPUs, 8)
	processes := 0
	for _, g := range shown.GPUs {
		requireShown(t, points, g)
		processes += len(g.Processes)
	}
	assert.Len(t, points.Select("process.gpu.info"), processes)
	assert.Positive(t, processes)
	assert.Equal(t, 8, shown.Summary.GPUs)
	assert.Equal(t, 8, shown.Summary.Healthy)
	assert.Equal(t, 1, shown.Summary.Nodes)

	for _, path := range []string{"/healthz", "/api/v1/gpu/nodes", "/api/v1/gpu/processes", "/api/v1/gpu/summary", "/api/v1/gpu/info", "/api/v1/gpu/openapi.json", "/", "/gpu/info", "/gpu/metrics"} {
		status, body, err := harness.Get(t.Context(), d.view+path)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	}
	status, _, err := harness.Get(t.Context(), d.view+"/api/v1/gpu/nodes/nowhere")
	require.NoError(t, err)
	assert.Equal(t, http.StatusNotFound, status)

	changes := openStream(t, d.view)
	require.True(t, changes.Scan(), "the present state")
	code, _, err := process.Interrupt(endsWithin)
	require.NoError(t, err, "an open stream does not hold up the end")
	assert.Zero(t, code)
	assert.Empty(t, process.Complaints())
	for changes.Scan() { // what was under way
	}
}

// openStream opens the stream of changes.
func openStream(t *testing.T, view string) *bufio.Scanner {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, view+"/api/v1/gpu/stream", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	return bufio.NewScanner(response.Body)
}

// sameRead reports whether the energy, which changes at every read, is the same on both sides.
func sameRead(points harness.Points, gpus []*view.GPU) bool {
	for _, g := range gpus {
		energy, ok := points.Value("hw.energy", "hw.id", g.ID)
		if !ok || g.Power.Energy == nil || *g.Power.Energy != energy {
			return false
		}
	}
	return len(gpus) > 0
}

// requireShown requires that a GPU is shown with the values that were sent.
func requireShown(t *testing.T, points harness.Points, g *view.GPU) {
	t.Helper()
	for _, c := range []struct {
		shown      *float64
		metric     string
		attributes []string
	}{
		{g.Utilization.General, "hw.gpu.utilization", []string{"hw.gpu.task", "general"}},
		{g.Utilization.Encoder, "hw.gpu.utilization", []string{"hw.gpu.task", "encoder"}},
		{g.Memory.Total, "hw.gpu.memory.limit", nil},
		{g.Memory.Used, "hw.gpu.memory.usage", nil},
		{g.Power.Watts, "hw.power", nil},
		{g.Power.Limit, "hw.power.limit", []string{"hw.limit_type", "enforced"}},
	} {
		value, ok := points.Value(c.metric, append(c.attributes, "hw.id", g.ID)...)
		if assert.True(t, ok, "%s of %s", c.metric, g.ID) && assert.NotNil(t, c.shown, c.metric) {
			assert.InDelta(t, value, *c.shown, 0, c.metric)
		}
	}
	require.NotNil(t, g.Status)
	assert.Len(t, points.Select("hw.status", "hw.id", g.ID, "hw.state", *g.Status), 1)
	value := points.Select("process.gpu.memory.usage", "hw.id", g.ID)
	require.Len(t, g.Processes, len(value))
	for _, p := range g.Processes {
		used, ok := points.Value("process.gpu.memory.usage", "hw.id", g.ID, "process.pid", strconv.Itoa(p.PID))
		require.True(t, ok)
		require.NotNil(t, p.Memory)
		assert.InDelta(t, used, *p.Memory, 0)
	}
}

// A port that another program has ends the start with a message that says so.
func TestViewPortInUse(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = other.Close() }()
	path := filepath.Join(t.TempDir(), "collector.yaml")
	config := strings.Replace(strings.Replace(minimal, "SETTINGS", "{}", 1), "debug:", "gpu_view: {endpoint: \""+other.Addr().String()+"\"}", 1)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(config, "[debug]", "[gpu_view]", 1)), 0o600))
	code, output := run(t, "--config", path)
	assert.NotZero(t, code)
	assert.Contains(t, output, "listen on "+other.Addr().String())
	assert.Contains(t, output, "another endpoint")
}
