// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
			"--config", filepath.Join(root(t), "config", "parts", "persistent-queue.yaml"), "--config", path,
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

// made returns the times of all messages that the receiver has produced, as noted by the witness.
func (d *delivery) made() []pcommon.Timestamp {
	d.t.Helper()
	text, err := os.ReadFile(d.witness)
	require.NoError(d.t, err)
	var times []pcommon.Timestamp
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(whole) {
		metrics, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics(line)
		require.NoError(d.t, err)
		if at, ok := harness.MessageTime(metrics); ok {
			times = append(times, at)
		}
	}
	return times
}

// lacking returns the messages that have not reached the sink.
func (d *delivery) lacking(made []pcommon.Timestamp) (lacking []pcommon.Timestamp) {
	arrived := d.sink.Times()
	for _, at := range made {
		if arrived[at] == 0 {
			lacking = append(lacking, at)
		}
	}
	return lacking
}

// grown waits until the receiver has produced this many more messages.
func (d *delivery) grown(by int) {
	d.t.Helper()
	before := len(d.made())
	eventually(d.t, patience, "the receiver goes on", func() bool { return len(d.made()) >= before+by })
}

// The partial configurations fit each configuration that their comments name.
func TestPartsFit(t *testing.T) {
	t.Parallel()
	config := filepath.Join(root(t), "config")
	for name, fits := range map[string][]string{
		"persistent-queue.yaml":        {"agent.yaml", "agent-kubernetes.yaml", "exec.yaml"},
		"telemetry-otlp.yaml":          {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "gateway.yaml", "k8s-attributes.yaml"},
		"otlp-http.yaml":               {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "exec.yaml", "k8s-attributes.yaml"},
		"otlp-token.yaml":              {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "gateway.yaml", "k8s-attributes.yaml"},
		"mtls-agent.yaml":              {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "k8s-attributes.yaml"},
		"mtls-gateway.yaml":            {"gateway.yaml"},
		"gateway-node-condition.yaml":  {"gateway.yaml"},
		"prometheus-otlp.yaml":         {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "k8s-attributes.yaml"},
		"prometheus-remote-write.yaml": {"agent.yaml", "agent-kubernetes.yaml", "amd.yaml", "cluster.yaml", "exec.yaml", "k8s-attributes.yaml"},
	} {
		part := filepath.Join(config, "parts", name)
		text, err := os.ReadFile(part)
		require.NoError(t, err)
		for _, base := range fits {
			assert.Contains(t, string(text), base, name)
			code, output := run(t, "validate", harness.FeatureGates, "--config", filepath.Join(config, base), "--config", part)
			assert.Zero(t, code, "%s, %s: %s", base, name, output)
		}
	}
}

// The outage is over after a few messages unless GPURECEIVER_OUTAGE says otherwise: `make delivery` takes ten minutes.
func outage(t *testing.T) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(cmp.Or(os.Getenv("GPURECEIVER_OUTAGE"), "0s"))
	require.NoError(t, err)
	return length
}

// An outage, a restart within it and a SIGTERM right after it lose no message.
func TestOutageLosesNothing(t *testing.T) {
	t.Parallel()
	d := prepareDelivery(t, filepath.Join(t.TempDir(), "storage"))
	down := d.sinkUp()
	d.start()
	eventually(t, patience, "messages arrive", func() bool { n, _ := d.sink.Messages(); return n >= 3 })

	down()
	time.Sleep(outage(t) / 2)
	d.grown(4)
	d.terminate()
	d.start()
	eventually(t, patience, "the second run reads", func() bool { return strings.Contains(d.process.Output(), "Everything is ready") })
	time.Sleep(outage(t) / 2)
	d.grown(4)
	d.sinkUp()
	d.terminate()
	made := d.made()
	require.Greater(t, len(made), 8)

	d.start()
	eventually(t, patience+outage(t), "all have arrived", func() bool { return len(d.lacking(made)) == 0 })
	d.terminate()
	t.Logf("%d messages made until the SIGTERM, none lost; %d arrived more than once", len(made), repeated(d.sink.Times()))

	require.NoError(t, filepath.WalkDir(d.storage, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		assert.Equal(t, want, info.Mode().Perm(), path)
		return nil
	}))
}

func repeated(times map[pcommon.Timestamp]int) (n int) {
	for _, count := range times {
		if count > 1 {
			n++
		}
	}
	return n
}

// On a full disk the collector continues, reports the problem, counts the dropped data, and delivers again once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a disk of its own needs root")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m,mode=0700"); err != nil {
		t.Skipf("no disk of its own: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	ballast := filepath.Join(disk, "ballast") // not the queue fills the disk: it has a limit of its own
	require.NoError(t, os.WriteFile(ballast, make([]byte, 63<<20), 0o600))
	d := prepareDelivery(t, filepath.Join(disk, "storage"))
	d.start() // nobody listens
	eventually(t, patience, "it is ready", func() bool { return strings.Contains(d.process.Output(), "Everything is ready") })

	dropped := func() float64 {
		for _, s := range readPage(t, d.page) {
			if strings.HasPrefix(s.Name, "otelcol_exporter_enqueue_failed_metric_points") {
				return s.Value
			}
		}
		return 0
	}
	eventually(t, patience, "drops are counted", func() bool { return dropped() > 0 })
	eventually(t, patience, "it says why", func() bool { return strings.Contains(d.process.Output(), "no space left on device") })
	d.grown(3) // the other exporters still receive data
	require.True(t, d.process.Running())

	require.NoError(t, os.Remove(ballast))
	before := len(d.made())
	d.sinkUp()
	eventually(t, patience, "new messages arrive again", func() bool {
		made := d.made()
		return len(made) > before+4 && len(d.lacking(made[len(made)-3:len(made)-1])) == 0
	})
	t.Logf("dropped %.0f points", dropped())
	d.terminate()
	assert.NotContains(t, d.process.Output(), "panic:")
}
