// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap/zapcore"

	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// simulated is a receiver configured as by users, over a simulated node.
type simulated struct {
	*rig
	control *nvmlsim.Control
}

func simulate(t *testing.T, scenario string) *simulated {
	t.Helper()
	lib := simulator(t)
	s := &simulated{rig: newRigOf(t, openSource), control: nvmlsim.Use(t, scenario)}
	closed(t, lib)
	s.use(lib.Full)
	s.cfg.ControllerConfig.CollectionInterval = 20 * time.Millisecond
	return s
}

func simulator(t testing.TB) nvmlsim.Library {
	t.Helper()
	lib, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return lib
}

// closed makes a test wait at its end until NVML is shut down: the library reads the next test's scenario when it is initialised again, and
// a hung call may return late.
func closed(t testing.TB, lib nvmlsim.Library) {
	t.Helper()
	counters, err := nvmlsim.OpenCounters(lib.Full)
	require.NoError(t, err)
	worked := func(function string) uint64 { return counters.Calls(function) - counters.Errors(function) }
	t.Cleanup(func() {
		require.Eventually(t, func() bool {
			return counters.Outstanding() == 0 && worked("nvmlInit_v2")+worked("nvmlInitWithFlags") == worked("nvmlShutdown")
		}, time.Minute, time.Millisecond, "NVML is still initialised")
	})
}

// use configures only the nvml scraper.
func (s *simulated) use(library string) {
	cfg := nvml.DefaultConfig()
	cfg.LibraryPath = library
	s.cfg.Scrapers = map[string]component.Config{"nvml": &cfg}
}

// set replaces the current faults.
func (s *simulated) set(text string) {
	s.t.Helper()
	require.NoError(s.t, s.control.Set(text))
}

// newest returns the points that arrived last and fulfil a condition.
func (s *simulated) newest(condition func(points []otlptest.Point) bool, subject string) []otlptest.Point {
	s.t.Helper()
	s.metrics.Reset()
	var points []otlptest.Point
	eventually(s.t, func() bool {
		all := s.metrics.AllMetrics()
		if len(all) == 0 {
			return false
		}
		points = otlptest.Points(all[len(all)-1])
		return condition(points)
	}, subject)
	return points
}

// state returns the current hw.state of a device.
func state(points []otlptest.Point, id string) string {
	for _, p := range otlptest.Of(points, "hw.status") {
		if p.Attributes["hw.id"] == id && p.Value == 1 {
			return p.Attributes["hw.state"].(string)
		}
	}
	return ""
}

// seriesOf lists the series of a device, sorted.
func seriesOf(points []otlptest.Point, id string) []string {
	var series []string
	for _, p := range points {
		if p.Attributes["hw.id"] == id {
			series = append(series, p.Series())
		}
	}
	slices.Sort(series)
	return series
}

// devices lists the hw.ids of a node.
func devices(points []otlptest.Point) []string {
	var ids []string
	for _, p := range otlptest.Of(points, "hw.gpu.info") {
		ids = append(ids, p.Attributes["hw.id"].(string))
	}
	return ids
}

func allWell(gpus int) func([]otlptest.Point) bool {
	return func(points []otlptest.Point) bool {
		well := 0
		for _, id := range devices(points) {
			if state(points, id) == "ok" {
				well++
			}
		}
		return well == gpus && len(otlptest.Of(points, "hw.energy")) == gpus
	}
}

func count(points []otlptest.Point, presence string) float64 {
	for _, p := range otlptest.Of(points, "hw.gpu.count") {
		if p.Attributes["hw.gpu.presence"] == presence {
			return p.Value
		}
	}
	return -1
}

func TestSimulatedNode(t *testing.T) {
	s := simulate(t, "gpus = 8\n[process p]\ngpu = *\npid = 4194000\nmemory = 1Gi\nsm = 10")
	m := s.newMetrics()
	require.NoError(t, m.Start(t.Context(), s.host))
	points := s.newest(allWell(8), "eight GPUs")
	assert.Len(t, devices(points), 8)
	assert.Greater(t, len(points), 300)
	assert.Len(t, otlptest.Of(points, "process.gpu.memory.usage"), 8)
	assert.InDelta(t, 8, count(points, "visible"), 0)
	require.NoError(t, m.Shutdown(t.Context()))
	assert.Empty(t, s.log.All(), "nothing to complain of")
}

// One GPU falls off the bus: it is reported as failed, the other seven keep all their metrics, and each event is sent once. Then the GPU
// comes back.
func TestOneOfEightIsLost(t *testing.T) {
	s := simulate(t, "gpus = 8")
	s.run(s.newMetrics(), s.newLogs())
	before := s.newest(allWell(8), "eight GPUs")
	ids := devices(before)
	broken := ids[3]

	s.set("[fault f]\ngpu = 3\nkind = lost\nat_start = true")
	during := s.newest(func(points []otlptest.Point) bool { return state(points, broken) == "failed" }, "one is failed")
	assert.ElementsMatch(t, ids, devices(during), "it is still there")
	assert.InDelta(t, 8, count(during, "visible")+max(count(during, "missing"), 0), 0, "and counted")
	for _, id := range ids {
		if id == broken {
			continue
		}
		assert.Equal(t, seriesOf(before, id), seriesOf(during, id), "all of another GPU")
		assert.Equal(t, "ok", state(during, id))
	}
	var left []otlptest.Point
	for _, p := range during {
		if p.Attributes["hw.id"] == broken {
			left = append(left, p)
		}
	}
	assert.Equal(t, []string{"hw.gpu.board.info", "hw.gpu.fault", "hw.gpu.info", "hw.status"}, otlptest.Names(left), "nothing is shown that was not read")
	eventually(t, func() bool { return s.logs.LogRecordCount() == 1 }, "an event")

	s.set("")
	after := s.newest(allWell(8), "it is back")
	over := otlptest.Of(after, "hw.gpu.fault")
	require.Len(t, over, 1)
	assert.Equal(t, "lost", over[0].Attributes["error.type"])
	assert.Zero(t, over[0].Value, "the fault is over")
	after = slices.DeleteFunc(after, func(p otlptest.Point) bool { return p.Metric == "hw.gpu.fault" })
	assert.Equal(t, seriesOf(before, broken), seriesOf(after, broken))
	eventually(t, func() bool { return s.logs.LogRecordCount() == 2 }, "another event")
	assert.Equal(t, fmt.Sprintf("hw.gpu.status %s: ok to failed, Error", broken), transition(records(s.logs)[0]))
	assert.Equal(t, fmt.Sprintf("hw.gpu.status %s: failed to ok, Info", broken), transition(records(s.logs)[1]))
}

// A call that hangs does not affect the other GPUs, and the shutdown does not wait for it.
func TestShutdownWhileTheDriverHangs(t *testing.T) {
	if !alone(t) {
		return
	}
	s := simulate(t, "gpus = 2")
	s.cfg.ControllerConfig.Timeout = 3 * time.Second // of one of several reads, in which a slow machine reads the other GPU
	s.factory.waits = defaultWaits()
	m := s.newMetrics()
	require.NoError(t, m.Start(t.Context(), s.host))
	ids := devices(s.newest(allWell(2), "two GPUs"))
	s.set("[fault f]\ngpu = 1\nfunction = nvmlDeviceGetMemoryInfo\nhang = true")
	defer func() {
		require.NoError(t, s.control.Write("")) // a hung call must not outlast its test
	}()
	s.newest(func(points []otlptest.Point) bool {
		return state(points, ids[1]) == "failed" && state(points, ids[0]) == "ok"
	}, "one hangs")
	require.NoError(t, m.Shutdown(t.Context())) // although the call hangs until the end of this test
}

// alone runs a test in a separate process and reports whether this is that process. NVML's binding keeps its state per process: a hung call
// that returns late must not affect the next test.
func alone(t *testing.T) bool {
	t.Helper()
	const own = "GPURECEIVER_TEST_ALONE"
	if os.Getenv(own) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), own+"="+t.Name())
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "--- PASS: "+t.Name(), "it must have run")
	return false
}

// The XIDs of the driver arrive as events and in their metric.
func TestXID(t *testing.T) {
	s := simulate(t, "gpus = 1\n[event e]\ngpu = 0\ntype = xid\nxid = 79")
	s.run(s.newMetrics(), s.newLogs())
	points := s.newest(func(points []otlptest.Point) bool {
		return slices.ContainsFunc(otlptest.Of(points, "hw.gpu.xids"), func(p otlptest.Point) bool { return p.Attributes["hw.gpu.xid"] == int64(79) })
	}, "it is counted")
	for _, p := range otlptest.Of(points, "hw.gpu.xids") {
		assert.InDelta(t, 1, p.Value, 0)
		assert.LessOrEqual(t, p.Start, p.Time)
	}
	eventually(t, func() bool { return s.logs.LogRecordCount() > 0 }, "an event")
	code, _ := records(s.logs)[0].Attributes().Get("hw.gpu.xid")
	assert.EqualValues(t, 79, code.Int())
}

// Events are read even if the metric that counts them is disabled.
func TestXIDWithoutItsMetric(t *testing.T) {
	s := simulate(t, "gpus = 1\n[event e]\ngpu = 0\ntype = xid\nxid = 31")
	s.cfg.Metrics.HwGpuXids.Enabled = false
	s.run(s.newLogs())
	eventually(t, func() bool { return s.logs.LogRecordCount() == 1 }, "an event")
	assert.Equal(t, "hw.gpu.xid", records(s.logs)[0].EventName())
}

// The library was replaced while the collector runs: only a restart can help, and the component status reports this.
func TestDriverMismatch(t *testing.T) {
	s := simulate(t, "gpus = 2")
	host := &statusHost{Host: s.host}
	s.host = host
	s.run(s.newMetrics())
	ids := devices(s.newest(allWell(2), "two GPUs"))
	mismatch := "[fault f]\nreturn = LIB_RM_VERSION_MISMATCH"
	s.set(mismatch)
	s.newest(func(points []otlptest.Point) bool {
		return state(points, ids[0]) == "failed" && state(points, ids[1]) == "failed"
	}, "all are failed")
	eventually(t, func() bool { return len(host.statuses()) == 1 }, "the status")
	assert.Equal(t, componentstatus.StatusRecoverableError, host.statuses()[0].Status())
	require.Error(t, host.statuses()[0].Err())
}

// A library that is missing, or is not NVML, causes one log line that names it and the remedy. The receiver runs and reports the node.
func TestUnusableLibrary(t *testing.T) {
	lib := simulator(t)
	for name, path := range map[string]string{
		"absent": filepath.Join(t.TempDir(), "libnvidia-ml.so.1"), "a directory": t.TempDir(), "not NVML": lib.NotNVML,
	} {
		t.Run(name, func(t *testing.T) {
			s := simulate(t, "gpus = 1")
			s.use(path)
			m := s.newMetrics()
			require.NoError(t, m.Start(t.Context(), s.host))
			eventually(t, func() bool { return len(s.metrics.AllMetrics()) >= 3 }, "some reads")
			require.NoError(t, m.Shutdown(t.Context()))
			require.Len(t, s.log.All(), 1, "%v", s.log.All())
			entry := s.log.All()[0]
			assert.Equal(t, zapcore.WarnLevel, entry.Level)
			assert.Contains(t, entry.ContextMap()["reason"], path)
		})
	}
}

// A value that the driver refuses is explained once, with the GPU, and is absent. All other values are present.
func TestRefusedQuantity(t *testing.T) {
	s := simulate(t, "gpus = 2\n[fault f]\ngpu = 1\nfunction = nvmlDeviceGetPerformanceState\nreturn = NO_PERMISSION")
	m := s.newMetrics()
	require.NoError(t, m.Start(t.Context(), s.host))
	points := s.newest(allWell(2), "two GPUs")
	assert.Len(t, otlptest.Of(points, "hw.gpu.performance_state"), 1)
	require.NoError(t, m.Shutdown(context.Background()))
	require.Len(t, s.log.All(), 1)
	assert.Equal(t, []any{devices(points)[1]}, s.log.All()[0].ContextMap()["hw.id"])
	assert.True(t, strings.HasPrefix(s.log.All()[0].ContextMap()["reason"].(string), "nvml: "))
}
