// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// delivery is the shipped agent with the shipped persistent queue, its backend, and a file in which the collector notes each message.
type delivery struct {
	*node
	backend string // the address at which the sink comes and goes
	storage string
	witness string
}

// overlay puts the shipped configuration on free ports and adds the witness.
const overlay = `
receivers:
  gpu:
    collection_interval: 500ms
    initial_delay: 0s
    timeout: 500ms
    scrapers: {nvml: {library_path: LIBRARY}}
exporters:
  prometheus: {endpoint: PAGE}
  file/witness: {path: WITNESS, rotation: {max_megabytes: 1000}}
extensions:
  health_check: {endpoint: STATUS}
service:
  telemetry:
    metrics:
      readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: TELEMETRY}}}}]
  pipelines:
    metrics: {exporters: [otlp_grpc, file/witness]}
`

func prepareDelivery(t *testing.T, storage string) *delivery {
	t.Helper()
	binary(t)
	d := &delivery{node: prepare(t, spec{}), backend: freeAddress(t), storage: storage}
	d.witness = filepath.Join(d.dir, "witness.jsonl")
	return d
}

func (d *delivery) start() {
	t := d.t
	t.Helper()
	telemetry := freeAddress(t)
	d.page = "http://" + telemetry + "/metrics"
	text := strings.NewReplacer("LIBRARY", simulator(t).Full, "PAGE", freeAddress(t), "STATUS", freeAddress(t), "WITNESS", d.witness,
		"TELEMETRY", telemetry[strings.LastIndexByte(telemetry, ':')+1:]).Replace(overlay)
	path := filepath.Join(d.dir, "overlay.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	process, err := harness.Start(harness.Options{
		Binary: binary(t), Dir: d.dir,
		Args: []string{
			"--config", filepath.Join(root(t), "config", "agent.yaml"),
			"--config", filepath.Join(root(t), "config", "overlays", "persistent-queue.yaml"), "--config", path,
		},
		Env: append(d.environment(), "OTLP_ENDPOINT="+d.backend, "OTELCOL_GPU_STORAGE="+d.storage, "K8S_NODE_NAME=node-a"),
	})
	require.NoError(t, err)
	d.process = process
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.Output())
		}
	})
}

func (d *delivery) sinkUp() (down func()) {
	d.t.Helper()
	_, stop, err := d.sink.ServeGRPCAt(d.backend)
	require.NoError(d.t, err)
	d.t.Cleanup(stop)
	return stop
}

func (d *delivery) terminate() {
	d.t.Helper()
	require.NoError(d.t, syscall.Kill(d.process.PID(), syscall.SIGTERM))
	code, err := d.process.Wait(patience)
	require.NoError(d.t, err)
	assert.Zero(d.t, code, "exit code")
}

// timestamps returns the times of all messages that the receiver has produced, as noted by the witness.
func (d *delivery) timestamps() []pcommon.Timestamp {
	d.t.Helper()
	text, err := os.ReadFile(d.witness)
	require.NoError(d.t, err)
	var times []pcommon.Timestamp
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(whole) {
		metrics, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics(line)
		require.NoError(d.t, err)
		if timestamp, ok := harness.MessageTime(metrics); ok {
			times = append(times, timestamp)
		}
	}
	return times
}

// lacking returns the messages that have not reached the sink.
func (d *delivery) lacking(timestamps []pcommon.Timestamp) (lacking []pcommon.Timestamp) {
	arrived := d.sink.Times()
	for _, timestamp := range timestamps {
		if arrived[timestamp] == 0 {
			lacking = append(lacking, timestamp)
		}
	}
	return lacking
}

// grown waits until the receiver has produced this many more messages.
func (d *delivery) grown(count int) {
	d.t.Helper()
	before := len(d.timestamps())
	eventually(d.t, patience, "the receiver goes on", func() bool { return len(d.timestamps()) >= before+count })
}
