// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/metadatatest"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

func problem(device, subject string) gpu.Problem {
	return gpu.Problem{Device: device, What: subject, Err: errors.New("nvml: " + device + ": read " + subject + ": not permitted")}
}

// reading runs a source until it was read this often, and returns the log.
func readTimes(t *testing.T, times int64, next func(read int) (*gpu.Node, error)) *rig {
	t.Helper()
	source := &fakeSource{next: func(_ context.Context, read int) (*gpu.Node, error) { return next(read) }}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	m := r.newMetrics()
	require.NoError(t, m.Start(t.Context(), r.host))
	eventually(t, func() bool { return source.reads.Load() > times }, "it runs")
	require.NoError(t, m.Shutdown(t.Context()))
	return r
}

// lines returns the log lines in short form: what could not be read, and what can be read again.
func (r *rig) lines() []string {
	var lines []string
	for _, entry := range r.log.All() {
		fields := entry.ContextMap()
		line := "again "
		if entry.Level == zapcore.WarnLevel {
			line = "cannot "
		}
		if quantity, ok := fields["what"].(string); ok {
			line += quantity
		} else {
			line = entry.Message
		}
		if ids, ok := fields["hw.id"].([]any); ok {
			line += fmt.Sprint(" of ", ids)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestProblemsAreExplainedOnce(t *testing.T) {
	r := readTimes(t, 12, func(read int) (*gpu.Node, error) {
		node := nodeOf(healthy("GPU-1"))
		node.Problems = []gpu.Problem{problem("", "processes")}
		if read <= 3 || read > 6 && read <= 9 {
			node.Problems = append(node.Problems, problem("GPU-1", "power"), problem("GPU-1", "power"))
		}
		return node, nil
	})
	assert.Equal(t, []string{
		"cannot processes", "cannot power of [GPU-1]", "again power of [GPU-1]", "cannot power of [GPU-1]", "again power of [GPU-1]",
	}, r.lines())
	first := r.log.All()[1]
	assert.Equal(t, zapcore.WarnLevel, first.Level)
	assert.Equal(t, "nvml: GPU-1: read power: not permitted", first.ContextMap()["reason"], "why, and what to do")
	assert.Equal(t, "nvml", first.ContextMap()["scraper"])
}

// A read that fails as a whole does not end earlier problems.
func TestFailedReadIsNoNewsOfTheRest(t *testing.T) {
	r := readTimes(t, 9, func(read int) (*gpu.Node, error) {
		if read >= 3 && read < 6 {
			return nil, errors.New("nvidia-smi: not found")
		}
		node := nodeOf(healthy("GPU-1"))
		node.Problems = []gpu.Problem{problem("GPU-1", "power")}
		return node, nil
	})
	assert.Equal(t, []string{"cannot power of [GPU-1]", "cannot read", "again read"}, r.lines())
}

// A GPU whose reads fail because of a fault is logged once, and once when it recovers, even if nothing consumes the events.
func TestStatesAreExplainedOnce(t *testing.T) {
	r := readTimes(t, 9, func(read int) (*gpu.Node, error) {
		if read >= 3 && read < 6 {
			return nodeOf(healthy("GPU-0"), lost("GPU-1"), lost("GPU-2")), nil
		}
		return nodeOf(healthy("GPU-0"), healthy("GPU-1"), healthy("GPU-2")), nil
	})
	said := r.log.All()
	require.Len(t, said, 2, "%v", said)
	assert.Equal(t, zapcore.WarnLevel, said[0].Level)
	assert.Equal(t, "GPU unhealthy: GPU-1 and 1 other", said[0].Message)
	assert.Equal(t, map[string]any{
		"scraper": "nvml", "hw.id": []any{"GPU-1", "GPU-2"}, "hw.state": "failed",
		"reason": "it fell off the bus",
	}, said[0].ContextMap())
	assert.Equal(t, zapcore.InfoLevel, said[1].Level)
	assert.Equal(t, "GPU healthy again: GPU-1 and 1 other", said[1].Message)
	assert.Equal(t, []any{"GPU-1", "GPU-2"}, said[1].ContextMap()["hw.id"])
}

// A vendor without GPUs that is not configured causes neither a warning nor a failure. A configured one does, and is.
func TestNoGPUOfAVendor(t *testing.T) {
	for name, test := range map[string]struct {
		requested bool
		missing   int64
		other     bool // a GPU is bound to another driver
		levels    []zapcore.Level
		readable  float64
	}{
		"by default":                           {false, 0, false, nil, 1},
		"by default, but there is a GPU":       {false, 1, false, []zapcore.Level{zapcore.WarnLevel}, 0},
		"by default, but another driver's GPU": {false, 0, true, []zapcore.Level{zapcore.WarnLevel}, 0},
		"configured":                           {true, 0, false, []zapcore.Level{zapcore.WarnLevel}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) {
				node := nodeOf()
				node.Presence[gpu.Missing], node.OtherDriver = gpu.Some(test.missing), test.other
				node.Problems = []gpu.Problem{problem("", "library")}
				node.Failure = &gpu.Failure{Reason: gpu.FailureLibrary, Err: node.Problems[0].Err}
				return node, nil
			}}
			r := newRig(t, map[string]gpu.Source{"nvml": source, "amdgpu": always()})
			if !test.requested {
				r.cfg.Scrapers = nil
			}
			r.run(r.newMetrics())
			eventually(t, func() bool { return source.reads.Load() > 3 }, "it runs")
			var levels []zapcore.Level
			for _, entry := range r.log.All() {
				levels = append(levels, entry.Level)
			}
			assert.Equal(t, test.levels, levels)
			eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "the node is reported all the same")
			readable := map[any]float64{}
			for _, m := range r.metrics.AllMetrics() {
				for _, p := range otlptest.Of(otlptest.Points(m), "hw.gpu.source.readable") {
					readable[p.Attributes["hw.gpu.source.name"]] = p.Value
				}
			}
			assert.InDelta(t, test.readable, readable["nvml"], 0)
		})
	}
}

// An informational problem becomes a warning, and is counted, once there is a GPU that it prevents from being read.
func TestGPUAppearsWithoutDriver(t *testing.T) {
	var missing atomic.Int64
	source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) {
		node := nodeOf()
		node.Presence[gpu.Missing] = gpu.Some(missing.Load())
		node.Problems = []gpu.Problem{problem("", "library")}
		return node, nil
	}}
	r, telemetry := telemetryRig(t, source)
	r.cfg.Scrapers = nil
	unreadable := func() int64 {
		m, err := telemetry.GetMetric("otelcol_gpu_unreadable")
		require.NoError(t, err)
		for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
			if p.Attributes.Equals(&ofNVML) {
				return p.Value
			}
		}
		return -1
	}
	m := r.newMetrics()
	require.NoError(t, m.Start(t.Context(), r.host))
	eventually(t, func() bool { return source.reads.Load() > 3 }, "it runs")
	assert.Zero(t, unreadable(), "nothing of this vendor is there, and nothing is to be read")
	missing.Store(1)
	eventually(t, func() bool { return unreadable() == 1 }, "there is a GPU now")
	readCount := source.reads.Load()
	eventually(t, func() bool { return source.reads.Load() > readCount+3 }, "it runs on")
	require.NoError(t, m.Shutdown(t.Context()))
	var levels []zapcore.Level
	for _, entry := range r.log.All() {
		levels = append(levels, entry.Level)
	}
	assert.Equal(t, []zapcore.Level{zapcore.WarnLevel}, levels)
}

// The log begins with the GPUs that are read, each model once, or says that there is no GPU.
func TestStartSaysWhatWasFound(t *testing.T) {
	h200 := func(id string) gpu.Device {
		d := healthy(id)
		d.Model, d.Info.DriverVersion = "NVIDIA H200", "580.159.04"
		return d
	}
	for want, devices := range map[string][]gpu.Device{
		"Reading 2 NVIDIA H200 (driver 580.159.04)": {h200("GPU-1"), h200("GPU-2")},
		"No GPU found on this machine":              nil,
	} {
		t.Run(want, func(t *testing.T) {
			source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) { return nodeOf(devices...), nil }}
			r := newRig(t, map[string]gpu.Source{"nvml": source, "amdgpu": &fakeSource{next: func(context.Context, int) (*gpu.Node, error) { return nodeOf(), nil }}})
			r.cfg.Scrapers = nil
			core, log := observer.New(zap.InfoLevel)
			r.set.Logger = zap.New(core)
			r.run(r.newMetrics())
			eventually(t, func() bool { return source.reads.Load() > 3 && log.Len() > 0 }, "it runs")
			require.Len(t, log.All(), 1)
			assert.Equal(t, want, log.All()[0].Message)
		})
	}
}

// telemetryRig collects the receiver's own telemetry.
func telemetryRig(t *testing.T, source gpu.Source) (*rig, *componenttest.Telemetry) {
	t.Helper()
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, telemetry.Shutdown(context.Background())) })
	r := newRig(t, map[string]gpu.Source{"nvml": source, "amdgpu": always()})
	delete(r.cfg.Scrapers, "amdgpu") // exists for a test that names no scraper
	logger := r.set.Logger
	r.set = metadatatest.NewSettings(telemetry)
	r.set.ID, r.set.Logger = component.NewID(metadata.Type), logger
	return r, telemetry
}

var ofNVML = attribute.NewSet(attribute.String("receiver", "gpu"), attribute.String("scraper", "nvml"))

func TestUnreadableIsCounted(t *testing.T) {
	source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) {
		node := nodeOf(healthy("GPU-1"))
		node.Problems = []gpu.Problem{problem("", "processes"), problem("GPU-1", "power")}
		return node, nil
	}}
	r, telemetry := telemetryRig(t, source)
	r.run(r.newMetrics())
	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "it runs")
	metadatatest.AssertEqualGpuUnreadable(t, telemetry, []metricdata.DataPoint[int64]{{Value: 2, Attributes: ofNVML}},
		metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
}

// The processes with the most memory are kept, those with unknown memory last, and the rest are counted.
func TestMaxProcesses(t *testing.T) {
	tests := map[string]struct {
		most    int
		want    []int64
		dropped int64
	}{
		"more than there are": {10, []int64{1, 2, 3, 4, 5}, 0},
		"as many":             {5, []int64{1, 2, 3, 4, 5}, 0},
		"fewer":               {2, []int64{2, 4}, 3},
		"one without memory":  {4, []int64{1, 2, 4, 5}, 1},
		"none":                {0, nil, 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			source := &fakeSource{next: func(ctx context.Context, read int) (*gpu.Node, error) {
				if read > 1 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				node := nodeOf(healthy("GPU-1"))
				for pid, memory := range []gpu.Opt[int64]{gpu.Some[int64](10), gpu.Some[int64](50), {}, gpu.Some[int64](40), gpu.Some[int64](10)} {
					p := gpu.Process{PID: int64(pid + 1), DeviceID: "GPU-1", Memory: memory}
					p.Utilization[gpu.TaskGeneral] = gpu.Some(0.1)
					node.Processes = append(node.Processes, p)
				}
				return node, nil
			}}
			r, telemetry := telemetryRig(t, source)
			r.cfg.MaxProcesses = test.most
			r.run(r.newMetrics())
			eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "it runs")
			var pids []int64
			for _, p := range otlptest.Of(otlptest.Points(r.metrics.AllMetrics()[0]), "process.gpu.utilization") {
				pids = append(pids, p.Attributes["process.pid"].(int64))
			}
			assert.Equal(t, test.want, pids)
			if test.dropped == 0 {
				_, err := telemetry.GetMetric("otelcol_gpu_processes_dropped")
				require.Error(t, err, "nothing was left out")
				return
			}
			metadatatest.AssertEqualGpuProcessesDropped(t, telemetry,
				[]metricdata.DataPoint[int64]{{Value: test.dropped, Attributes: ofNVML}}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
		})
	}
}
