// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// demo is the shipped configuration with the simulated node of `make demo`, on a port of its own.
type demo struct {
	dir, config, page, view string
	options                 harness.Options
}

func newDemo(t *testing.T, example string) *demo {
	t.Helper()
	metrics, view := freeAddress(t), freeAddress(t)
	d := &demo{dir: t.TempDir(), page: "http://" + metrics + "/metrics", view: "http://" + view}
	d.config = filepath.Join(d.dir, example)
	config := shippedAt(t, example, map[string]string{"127.0.0.1:${env:EXPORTER_PORT:-9400}": metrics, "127.0.0.1:9410": view})
	// A busy machine reads within these. Nothing else changes.
	config = strings.NewReplacer(" ${env:COLLECTION_INTERVAL:-2s}", " "+patient, " timeout: 1s", " timeout: "+patient, " 6s", " 1m").Replace(config)
	require.NoError(t, os.WriteFile(d.config, []byte(config), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(d.dir, "demo-output"), 0o750))
	scenario, err := nvmlsim.ScenarioFile("demo")
	require.NoError(t, err)
	d.at(t, "10")
	d.node(t)
	d.options = harness.Options{Dir: d.dir, Env: []string{
		nvmlsim.EnvScenario + "=" + scenario,
		nvmlsim.EnvControl + "=" + filepath.Join(d.dir, "control"),
		"GPU_NVML_LIBRARY=" + simulator(t).Full, "DEMO_NODE=" + d.dir,
	}}
	return d
}

// at moves the scenario to a time, so that what it shows does not depend on how fast the machine is.
func (d *demo) at(t *testing.T, seconds string) {
	t.Helper()
	path := filepath.Join(d.dir, "control")
	require.NoError(t, os.WriteFile(path+".new", []byte("time = manual\nnow = "+seconds+"\n"), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// node simulates what is around the GPUs, as `make demo` does.
func (d *demo) node(t *testing.T) {
	t.Helper()
	path := filepath.Join(d.dir, "demonode")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./test/nvmlsim/demonode")
	build.Dir = root(t)
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	d.options = harness.Options{Dir: d.dir}
	d.start(t, path, d.dir)
	eventually(t, patience, "the kubelet's socket", func() bool { _, err := os.Stat(filepath.Join(d.dir, "kubelet.sock")); return err == nil })
}

// shippedAt returns a shipped configuration with other endpoints. It contains each of them once.
func shippedAt(t *testing.T, example string, endpoints map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "config", example))
	require.NoError(t, err)
	config := string(text)
	for old, address := range endpoints {
		require.Equal(t, 1, strings.Count(config, "endpoint: "+old), old)
		config = strings.Replace(config, "endpoint: "+old, "endpoint: "+address, 1)
	}
	return config
}

// start starts a program on the simulated node.
func (d *demo) start(t *testing.T, binary string, args ...string) *harness.Process {
	t.Helper()
	o := d.options
	o.Binary, o.Args = binary, args
	process, err := harness.Start(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.Output())
		}
	})
	return process
}

// show starts the collector beside the table, as `make demo` does.
func (d *demo) show(t *testing.T, more ...string) *harness.Process {
	t.Helper()
	path := filepath.Join(d.dir, "otelgpu")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/otelgpu")
	build.Dir, build.Env = root(t), append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	args := []string{"run", "--collector", binary(t), "--config", d.config, "--server", d.view, "--log", "demo-output/collector.log"}
	return d.start(t, path, append(args, more...)...)
}

// written returns the points of the last message in the OTLP file.
func (d *demo) written(t *testing.T) harness.Points {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "demo-output", "otlp.jsonl"))
	if err != nil {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	for i := len(lines) - 2; i >= 0; i-- { // after the last newline there is nothing, or an incomplete line
		if !strings.HasPrefix(lines[i], `{"resourceMetrics"`) {
			continue
		}
		metrics, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics([]byte(lines[i]))
		require.NoError(t, err)
		return harness.Flatten(metrics)
	}
	return nil
}

// The demonstration's configuration: soon after the start the same values are on the Prometheus endpoint and in the OTLP
// file, and an interrupt ends the collector cleanly.
func TestDemo(t *testing.T) {
	t.Parallel()
	d := newDemo(t, "demo.yaml")
	process := d.start(t, binary(t), "--config", d.config)
	eventually(t, patience, "eight GPUs in the file", func() bool { return full(8)(d.written(t)) })
	points := d.written(t)
	assert.NotEmpty(t, points.Select("process.gpu.memory.usage", "process.pid", "31001"))
	requireSame(t, d)

	code, took, err := process.Interrupt(endsWithin)
	require.NoError(t, err)
	assert.Zero(t, code)
	t.Logf("ended in %v", took.Round(time.Millisecond))
	assert.Empty(t, process.Complaints())
}

// In its first five minutes the demonstration shows an XID, a GPU throttled by heat, an idle notebook and a GPU that recovers. The page says
// that it is simulated. All processes have names, users and pods of the simulated node.
func TestDemoStory(t *testing.T) {
	t.Parallel()
	d := newDemo(t, "demo.yaml")
	config, err := os.ReadFile(d.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.config, []byte(strings.Replace(string(config), "idle_after: 1m ", "idle_after: 1s ", 1)), 0o600))
	d.start(t, binary(t), "--config", d.config)
	find := func(path string) string {
		_, body, err := harness.Get(t.Context(), d.view+path)
		if err != nil {
			return ""
		}
		return body
	}
	shows := func(path string, parts ...string) {
		t.Helper()
		eventually(t, patience, path+": "+strings.Join(parts, ", "), func() bool {
			body := find(path)
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(body, part) })
		})
	}
	shows("/", `name="notice" content="SIMULATED`)
	shows("/api/v1/gpu/processes?gpu=6", `"name":"python3"`, `"owner":"grace"`, `"pod":"notebook-0"`)
	shows("/api/v1/gpu/processes", `"total":12,`, `"pod":"train-0"`, `"pod":"chat-0"`, `"pod":"transcode-0"`, `"name":"Xorg"`)
	shows("/api/v1/gpu/summary", `"gpus":8,"healthy":8,`)
	shows("/api/v1/gpu/workloads?pod=notebook-0", `"kind":"Pod"`, `"idle":1,`)
	d.at(t, "50")
	shows("/api/v1/gpu/events?name=hw.gpu.xid", `"hw.gpu.xid":31,`)
	d.at(t, "100")
	shows("/api/v1/gpu/problems?kind=throttled", `"index":3,`)
	d.at(t, "150")
	shows("/api/v1/gpu/problems?kind=gpu_failed", `"index":7,`)
	shows("/api/v1/gpu/events?name=hw.gpu.xid", `"hw.gpu.xid":79,`)
	d.at(t, "300")
	shows("/api/v1/gpu/summary", `"healthy":8,`)
}

// requireSame requires that every point of the OTLP file is a series of the Prometheus endpoint with the same value, and that the page has no
// other series. The page is read between two reads of the file, so that both show the same scrape.
func requireSame(t *testing.T, d *demo) {
	t.Helper()
	var (
		points harness.Points
		page   []harness.Series
	)
	eventually(t, patience, "page and file of one scrape", func() bool {
		points = d.written(t)
		page = readPage(t, d.page)
		after := d.written(t)
		// The collector feeds the two exporters one after the other.
		return len(page) == len(points) && after[0].Time == points[0].Time && sameValue(points, page, "hw_energy_joules_total")
	})
	shown := map[string]float64{}
	for _, s := range page {
		shown[s.Key()] = s.Value
	}
	require.Len(t, shown, len(page), "no series twice")
	for _, p := range points {
		series := p.InPrometheus(true)
		value, ok := shown[series.Key()]
		if assert.True(t, ok, series.Key()) {
			assert.InEpsilon(t, 1+p.Value, 1+value, 1e-12, series.Key())
		}
	}
}

// sameValue reports whether a metric that changes at every scrape is the same on both sides.
func sameValue(points harness.Points, page []harness.Series, metric string) bool {
	shown := map[string]float64{}
	for _, s := range page {
		shown[s.Key()] = s.Value
	}
	for _, p := range points {
		if series := p.InPrometheus(true); series.Name == metric {
			if value, ok := shown[series.Key()]; !ok || value != p.Value {
				return false
			}
		}
	}
	return true
}

// otelgpu shows one line for each GPU, says that they are simulated, and prints the address of the page. Ctrl-C ends it, and the collector
// with it.
func TestDemoPage(t *testing.T) {
	t.Parallel()
	d := newDemo(t, "demo.yaml")
	process := d.show(t, "--simulated")
	const last = ", log demo-output/collector.log\n"
	eventually(t, patience, "the table", func() bool { return strings.Contains(process.Output(), last) })
	table, _, _ := strings.Cut(process.Output(), last)
	shown := table + last
	assert.Contains(t, shown, "SIMULATED")
	assert.Contains(t, shown, "8 GPUs: 8 ok   nodes 1 ")
	assert.Contains(t, shown, "\nPage "+d.view+"/, log demo-output/collector.log\n")
	for _, line := range []string{
		`(?m)^nvidia0 +NVIDIA H100 80GB HBM3 +ok +[█░]+ +\d+% +\d+/80 GiB +\d+ °C +\d+/700 W +\d+ MHz +\S+ +1 +ml/train-0$`,
		`(?m)^nvidia5 .* 5 +media/transcode-0$`,
		`(?m)^nvidia7 +NVIDIA H100 80GB HBM3 +ok +░+ +0% +0/80 GiB .* - +0 +(?:free|-)$`, // unknown until the kubelet has answered
	} {
		assert.Regexp(t, line, shown)
	}
	assert.Less(t, strings.Count(shown, "\n"), 40, "a summary, not a wall of text")

	code, took, err := process.Interrupt(endsWithin)
	require.NoError(t, err)
	assert.Zero(t, code)
	t.Logf("ended in %v", took.Round(time.Millisecond))
	_, _, err = harness.Get(t.Context(), d.page)
	require.Error(t, err, "the collector has ended too")
	log, err := os.ReadFile(filepath.Join(d.dir, "demo-output", "collector.log"))
	require.NoError(t, err)
	assert.Contains(t, string(log), "Shutdown complete")
}

// On a machine without any GPU the terminal shows one line, followed by the causes and the remedies.
func TestDemoWithoutGPU(t *testing.T) {
	t.Parallel()
	for example, cause := range map[string]string{
		"demo.yaml": "library: nvml: no usable libnvidia-ml.so.1: load: .*: cannot open shared object file: .*", // it configures nvml
		"run.yaml":  "GPUs: no NVIDIA or AMD GPU is on the PCI bus",
	} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			if onTheBus(t, "0x10de", "0x1002") > 0 {
				t.Skip("this machine has a GPU")
			}
			d := newDemo(t, example)
			d.options.Env = append(d.options.Env, "GPU_NVML_LIBRARY="+filepath.Join(d.dir, "libnvidia-ml.so.1"))
			process := d.show(t)
			// Before the collector serves its page it is "connection refused", and before its first read there is no cause.
			whole := regexp.MustCompile(`No GPU found on this machine; trying again.*(\n  .+)?\n  ` + cause + `; .*(\n  .+)?\n`)
			eventually(t, patience, "the line, the cause and the remedy", func() bool { return whole.MatchString(process.Output()) })
			code, _, err := process.Interrupt(endsWithin)
			require.NoError(t, err)
			assert.Zero(t, code)
		})
	}
}
