// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// aProcess is a process on the recorded H200, which is busy.
const aProcess = "\n[gpu 0]\nutil.gpu = 80\n[process p]\ngpu = 0\npid = 558\nmemory = 1Gi\nsm = 80\n"

// idleCosts are what the calls of an H200 cost that is idle.
const idleCosts = "\n[cost]\nfields = 1\nnvmlDeviceGetSamples = 2500us\n"

// startH200 starts a source that reads what the default metrics need from the recorded H200, with a driver that takes the recorded time.
func startH200(t *testing.T, interval time.Duration, more string) (*bench, *nvmlsim.Counters) {
	t.Helper()
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	path, err := nvmlsim.ScenarioFile("h200")
	require.NoError(t, err)
	scenario, err := os.ReadFile(path)
	require.NoError(t, err)
	metrics, events := metadata.DefaultMetricsConfig(), metadata.DefaultEventsConfig()
	return start(t, "time = manual\n"+string(scenario)+more, record.Wanted(&metrics, &events, true), WithInterval(interval)), counters
}

// readAt reads at a time, after the fetches of samples that come before.
func (b *bench) readAt(seconds float64) *gpu.Node {
	b.t.Helper()
	if last := b.clock.Sub(manualEpoch).Seconds(); last < seconds && b.driver.session != nil {
		period := samplePeriod(b.driver.session.sampleRing(), b.opts.interval).Seconds()
		for timestamp := last + period; period > 0 && timestamp < seconds-period/2; timestamp += period {
			b.schedule(timestamp, "")
			b.fetchSamples()
		}
	}
	b.schedule(seconds, "")
	return b.read()
}

// The driver time of a read and of the fetches before it, with the default metrics: docs/operate/performance.md has these numbers.
func TestDriverTime(t *testing.T) {
	for name, tt := range map[string]struct {
		interval float64
		more     string
		max      time.Duration
	}{
		"every 30 s":         {30, aProcess, 18 * time.Millisecond},
		"every 30 s, idle":   {30, idleCosts, 16 * time.Millisecond},
		"every second":       {1, aProcess, 9 * time.Millisecond},
		"every second, idle": {1, idleCosts, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			b, counters := startH200(t, time.Duration(tt.interval*float64(time.Second)), tt.more)
			for i := range 4 {
				b.readAt(float64(i) * tt.interval)
			}
			counters.Reset()
			n := b.readAt(4 * tt.interval)
			assert.Empty(t, n.Problems)
			t.Logf("%v of driver time, %v of it for samples, %v for fields", counters.TotalDriverTime(),
				counters.DriverTime("nvmlDeviceGetSamples"), counters.DriverTime("nvmlDeviceGetFieldValues"))
			assert.Less(t, counters.TotalDriverTime(), tt.max)
			assert.Greater(t, counters.TotalDriverTime(), tt.max*9/10)
		})
	}
}

// The collector calls only functions whose answers were recorded, and they succeed as they did then.
func TestRecordedFunctions(t *testing.T) {
	b, counters := startH200(t, time.Second, aProcess)
	counters.Reset()
	b.readAt(0)
	b.readAt(1)
	content, err := os.ReadFile(filepath.Join("..", "..", "testdata", "recordings", "h200-580.159.04", "nvml-calls.tsv"))
	require.NoError(t, err)
	var calls uint64
	for line := range strings.Lines(string(content)) {
		function, _, _ := strings.Cut(line, "\t")
		calls += counters.Calls(function)
		assert.Zero(t, counters.Errors(function), function)
	}
	added := counters.Calls("nvmlDeviceValidateInforom") // the collector did not call it then
	assert.Equal(t, counters.TotalCalls(), calls+added)
}

// The samples of engines for video are fetched only if the engine works or has just worked. The means equal the means of all samples.
func TestMediaEngineBetweenReads(t *testing.T) {
	const interval = 30
	rings := func(counters *nvmlsim.Counters) (n uint64) {
		n = counters.Calls("nvmlDeviceGetSamples")
		counters.Reset()
		return n
	}
	t.Run("works at a fetch", func(t *testing.T) {
		b, counters := startH200(t, interval*time.Second, "\n[gpu 0]\nutil.encoder = steps(0:0, 68:100, 75:0)\nutil.ofa = steps(0:0, 88:50, 92:0)\n")
		b.readAt(0)
		b.readAt(30)
		counters.Reset()
		b.readAt(60)
		assert.Equal(t, uint64(3), rings(counters), "of the GPU, at 40, 50 and 60 s")
		d := gpuAt(t, b.readAt(90), 0)
		assert.Equal(t, uint64(3+4+2), rings(counters), "also of the encoder at 70, 80 and 90 s, and of the optical flow at 90 s; the first time with its size")
		approx(t, 7.0/30, d.Utilization[gpu.TaskEncoder], "7 s of 30 s")
		approx(t, 0.5*2.2/30, d.Utilization[gpu.TaskOpticalFlow], "the samples from 88 s to 90 s, of 30 s")
		approx0(t, d.Utilization[gpu.TaskDecoder])
		d = gpuAt(t, b.readAt(120), 0)
		approx0(t, d.Utilization[gpu.TaskEncoder])
		approx(t, 0.5*1.8/30, d.Utilization[gpu.TaskOpticalFlow], "the samples before 92 s, of 30 s")
	})
	t.Run("works between two fetches", func(t *testing.T) {
		const burst = "\n[gpu 0]\nutil.decoder = steps(0:0, 32:100, 35:0)\nprocess.samples = 100\n"
		for name, tt := range map[string]struct {
			process string
			want    float64
		}{
			"no process":           {"", 0},
			"a process that is":    {"[process p]\ngpu = 0\npid = 558\ndec = steps(0:0, 32:100, 35:0)\n", 0.1},
			"a process that idles": {"[process p]\ngpu = 0\npid = 558\n", 0},
		} {
			t.Run(name, func(t *testing.T) {
				b, _ := startH200(t, interval*time.Second, burst+tt.process)
				b.readAt(0)
				b.readAt(30)
				got, ok := gpuAt(t, b.readAt(60), 0).Utilization[gpu.TaskDecoder].Get()
				assert.True(t, ok)
				assert.InDelta(t, tt.want, got, 1e-6)
			})
		}
	})
	t.Run("the driver failed", func(t *testing.T) {
		b, _ := startH200(t, interval*time.Second, "")
		b.readAt(0)
		b.schedule(interval, "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetSamples\nreturn = UNKNOWN\n")
		problem(t, b.read(), "decoder samples")
		b.schedule(2*interval, "")
		b.read()
		assert.Empty(t, b.readAt(3*interval).Problems)
	})
	t.Run("a session", func(t *testing.T) {
		b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\nutil.encoder = steps(0:0, 12:100, 15:0)\nencoder.sessions = steps(0:0, 12:1)", WithInterval(10*time.Second))
		b.readAt(10)
		got, _ := gpuAt(t, b.readAt(20), 0).Utilization[gpu.TaskEncoder].Get()
		assert.InDelta(t, 0.3, got, 0.01)
	})
}

// The samples of the memory controller are fetched only if the GPU or the memory controller works, or has worked since the last fetch. The means
// equal the means of all samples.
func TestMemoryControllerBetweenReads(t *testing.T) {
	b, counters := startH200(t, 10*time.Second, `
[gpu 0]
util.gpu = steps(0:0, 22:100, 24:0)
util.memory = steps(0:0, 22:50, 24:0, 48:20, 52:0)
`)
	b.readAt(0)
	b.readAt(10)
	for seconds, want := range []struct {
		mean  float64
		rings uint64
		why   string
	}{
		{0, 1, "idle"},
		{0.1, 3, "the GPU worked; the first time with the size"},
		{0, 2, "the memory controller worked at the last fetch"},
		{0.04, 2, "something else than the GPU uses the memory"},
		{0.04, 2, "and did at the last fetch"},
		{0, 2, "the same"},
		{0, 1, "idle"},
	} {
		counters.Reset()
		d := gpuAt(t, b.readAt(float64(10*seconds+20)), 0)
		assert.InDelta(t, want.mean, value2(t, d.MemoryController), 0.005, "%d: %s", seconds, want.why)
		assert.Equal(t, want.rings, counters.Calls("nvmlDeviceGetSamples"), "%d: %s", seconds, want.why)
	}
}

// The recorded load has the same mean utilization however seldom it is read, which is the one that an independent reader found.
func TestRecordedLoad(t *testing.T) {
	load, err := os.ReadFile(filepath.Join("..", "..", "testdata", "recordings", "h200-580.159.04", "load.scenario"))
	require.NoError(t, err)
	for _, interval := range []float64{1, 10, 30} {
		t.Run(fmt.Sprintf("every %v s", interval), func(t *testing.T) {
			b, _ := startH200(t, time.Duration(interval*float64(time.Second)), string(load))
			b.readAt(0)
			var general, memory float64
			for seconds := interval; seconds <= 60; seconds += interval {
				d := gpuAt(t, b.readAt(seconds), 0)
				general += value2(t, d.Utilization[gpu.TaskGeneral]) * interval / 60
				memory += value2(t, d.MemoryController) * interval / 60
			}
			assert.InDelta(t, 0.590, general, 0.003)
			assert.InDelta(t, 0.243, memory, 0.003)
		})
	}
}

// What seldom changes is requested every five minutes, and at the first read after an event, an error or a change of what it depends on.
func TestWhatSeldomChanges(t *testing.T) {
	functions := []string{"nvmlDeviceGetMigMode", "nvmlDeviceGetRepairStatus", "nvmlDeviceGetUnrepairableMemoryFlag_v1", "nvmlDeviceGetCurrPcieLinkWidth"}
	b, counters := startH200(t, 30*time.Second, "")
	callCount := func(seconds float64, text string) (n [4]uint64) {
		counters.Reset()
		b.schedule(seconds, text)
		b.read()
		for i, function := range functions {
			n[i] = counters.Calls(function)
		}
		return n
	}
	none, each := [4]uint64{}, [4]uint64{1, 1, 1, 1}
	require.Equal(t, each, callCount(0, ""))
	for seconds := 30.0; seconds <= 270; seconds += 30 {
		require.Equal(t, none, callCount(seconds, ""), "%v s", seconds)
	}
	require.Equal(t, each, callCount(300, ""), "after five minutes")
	require.Equal(t, none, callCount(330, ""))

	const slow = "[gpu 0]\npcie.generation = 1\n"
	assert.Equal(t, [4]uint64{0, 0, 0, 1}, callCount(360, slow), "the link became slower")
	const errors = slow + "ecc.volatile.uncorrected = 1\n"
	assert.Equal(t, [4]uint64{0, 1, 1, 0}, callCount(390, errors), "an error of the memory")
	assert.Equal(t, none, callCount(420, errors))
	const xid = errors + "[event e]\ngpu = 0\nxid = 63\n"
	b.schedule(450, xid)
	b.await(func() bool { return len(b.LastEvents()) > 0 })
	assert.Equal(t, each, callCount(450, xid), "an XID")
	assert.Equal(t, none, callCount(480, xid))
	const fault = xid + "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetTemperature\nreturn = UNKNOWN\n"
	callCount(510, fault)
	assert.Equal(t, each, callCount(540, fault), "a call failed")
	assert.Equal(t, none, callCount(570, fault))
}
