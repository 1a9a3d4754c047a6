// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

const (
	// patience is the limit for conditions that are normally fulfilled within a second or two. It only bounds tests that fail.
	patience = 3 * time.Minute
	// tick is the polling interval of conditions.
	tick = 50 * time.Millisecond
	// endsWithin is the limit for the collector's shutdown: 2 s are promised, the rest is for a busy machine.
	endsWithin = time.Minute
)

// root is the root of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return dir
}

// binary is the collector under test.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OTELCOL_GPU")
	if path == "" {
		t.Skip("no collector to test: OTELCOL_GPU does not name the built otelcol-gpu; run `make test-collector`")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(root(t), path)
	}
	require.FileExists(t, path, "OTELCOL_GPU")
	return path
}

func simulator(t *testing.T) nvmlsim.Library {
	t.Helper()
	lib, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return lib
}

// node is a simulated machine and the collector that runs on it.
type node struct {
	t       *testing.T
	dir     string
	sink    *harness.Sink
	control *nvmlsim.Control
	process *harness.Process

	page, status string // URLs of the Prometheus endpoint and of the health check
}

// spec is a test's description of a node.
type spec struct {
	scenario string            // text of a scenario; empty: eight healthy, idle GPUs
	name     string            // attribution::node_name
	nvml     string            // the nvml scraper's settings, in YAML's flow style; empty: the simulator's library
	interval string            // collection_interval and timeout, 500ms if empty
	replace  map[string]string // replacements in the configuration
	env      []string
}

const configuration = `
receivers:
  gpu:
    collection_interval: INTERVAL
    initial_delay: 0s
    timeout: INTERVAL
    attribution: {node_name: NAME}
    scrapers:
      nvml: NVML
exporters:
  otlp_http: {endpoint: SINK}
  prometheus: {endpoint: PAGE, resource_constant_labels: {included: ["*"]}}
extensions:
  health_check:
    http: {endpoint: STATUS}
    component_health: {include_recoverable_errors: true, recovery_duration: RECOVERY}
service:
  extensions: [health_check]
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [gpu], exporters: [otlp_http, prometheus]}
    logs: {receivers: [gpu], exporters: [otlp_http]}
`

// recovery is the recovery_duration of the health check.
const recovery = 3 * time.Second

// patient is the interval of tests that allow no read to end early: a busy machine needs more than half a second now and then.
const patient = "5s"

// start starts a collector on a simulated node. The test's cleanup ends it.
func start(t *testing.T, s spec) *node {
	t.Helper()
	n := prepare(t, s)
	n.run(s)
	return n
}

// prepare creates a node on which nothing runs yet.
func prepare(t *testing.T, s spec) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir(), sink: harness.NewSink()}
	t.Cleanup(func() { assert.NoError(t, n.sink.Close()) })
	n.control = nvmlsim.NewControl(filepath.Join(n.dir, "control"))
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "scenario"), []byte(s.scenario), 0o600))
	return n
}

// run starts the collector of a node.
func (n *node) run(s spec) {
	t := n.t
	t.Helper()
	page, status := freeAddress(t), freeAddress(t)
	n.page, n.status = "http://"+page+"/metrics", "http://"+status+"/status"
	if s.nvml == "" {
		s.nvml = fmt.Sprintf("{library_path: %q}", simulator(t).Full)
	}
	if s.name == "" {
		s.name = "node-a"
	}
	config := strings.NewReplacer("INTERVAL", cmp.Or(s.interval, "500ms"), "NVML", s.nvml, "SINK", n.sink.URL,
		"PAGE", page, "STATUS", status, "NAME", s.name, "RECOVERY", recovery.String()).Replace(configuration)
	for old, replacement := range s.replace {
		require.Contains(t, config, old)
		config = strings.ReplaceAll(config, old, replacement)
	}
	env := append(n.environment(), s.env...)
	process, err := harness.Collector(harness.Options{Binary: binary(t), Dir: n.dir, Env: env}, config)
	require.NoError(t, err)
	n.process = process
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", s.name, process.Output())
		}
		assert.NotContains(t, process.Output(), "panic:")
		assert.NotContains(t, process.Output(), "fatal error:")
	})
}

// environment sets the scenario of the simulated library. An empty scenario is the default one.
func (n *node) environment() []string {
	scenario := filepath.Join(n.dir, "scenario")
	if info, err := os.Stat(scenario); err == nil && info.Size() == 0 {
		scenario = ""
	}
	return []string{nvmlsim.EnvScenario + "=" + scenario, nvmlsim.EnvControl + "=" + n.control.Path()}
}

// next returns the points of the first scrape from now on that the function accepts.
func (n *node) next(subject string, accept func(harness.Points) bool) harness.Points {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	points, err := n.sink.Next(ctx, accept)
	require.NoError(n.t, err, "%s; the last message has %d points", subject, len(points))
	return points
}

// scrapes waits for this many scrapes.
func (n *node) scrapes(count int) {
	n.t.Helper()
	for range count {
		n.next("another scrape", func(harness.Points) bool { return true })
	}
}

// metrics reads the Prometheus endpoint.
func (n *node) metrics() []harness.Series {
	n.t.Helper()
	return readPage(n.t, n.page)
}

// health queries the health check.
func (n *node) health() (code int, body string) {
	n.t.Helper()
	code, body, err := harness.Get(n.t.Context(), n.status)
	require.NoError(n.t, err)
	return code, body
}

// set applies a change to the simulation.
func (n *node) set(text string) {
	n.t.Helper()
	require.NoError(n.t, n.control.Set(text))
}

// interrupt ends the collector as Ctrl-C does. The exit must be clean and quick.
func (n *node) interrupt() {
	n.t.Helper()
	code, took, err := n.process.Interrupt(endsWithin)
	require.NoError(n.t, err)
	assert.Zero(n.t, code, "exit code")
	n.t.Logf("ended in %v", took.Round(time.Millisecond))
}

func readPage(t *testing.T, url string) []harness.Series {
	t.Helper()
	code, body, err := harness.Get(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, 200, code)
	page, err := harness.ParsePage(body)
	require.NoError(t, err)
	return page
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := harness.FreeAddress()
	require.NoError(t, err)
	return address
}

// full reports whether a message shows this many GPUs, all of them healthy.
func full(gpus int) func(harness.Points) bool {
	return func(points harness.Points) bool {
		visible, _ := points.Value("hw.gpu.count", "hw.gpu.presence", "visible")
		well := 0
		for _, p := range points.Select("hw.status", "hw.state", "ok") {
			well += int(p.Value)
		}
		return int(visible) == gpus && well == gpus && len(points.Select("hw.power")) == gpus
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, within time.Duration, subject string, condition func() bool) {
	t.Helper()
	for startedAt := time.Now(); !condition(); time.Sleep(tick) {
		require.Less(t, time.Since(startedAt), within, subject)
	}
}

// gpu returns the hw.id of the n-th GPU of a scenario that names none.
func gpu(n int) string { return fmt.Sprintf("GPU-6f1c2a%02x-5eed-4a11-8c0d-0000c0ffee%02x", n, n) }
