// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/record"
)

func TestMetricsArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := always(healthy("GPU-1"))
		r := newRig(t, map[string]gpu.Source{"nvml": source})
		m := r.newMetrics()
		require.NoError(t, m.Start(t.Context(), r.host))
		eventually(t, func() bool { return len(r.metrics.AllMetrics()) >= 3 }, "metrics at each interval")
		require.NoError(t, m.Shutdown(t.Context()))
		require.NoError(t, m.Shutdown(t.Context()), "twice")

		points := otlptest.Points(r.metrics.AllMetrics()[0])
		assert.Equal(t, []string{"hw.gpu.count", "hw.gpu.info", "hw.gpu.source.readable", "hw.status"}, otlptest.Names(points))
		assert.Equal(t, map[string]any{"host.name": "node-a", "k8s.node.name": "node-a"}, points[0].Resource)
		assert.EqualValues(t, 1, source.closed.Load())
		reads := source.reads.Load()
		time.Sleep(time.Hour)
		assert.Equal(t, reads, source.reads.Load(), "nothing runs after the shutdown")
		assert.Empty(t, r.instances(), "nothing is kept of it")
	})
}

// A receiver that was never started can be shut down. It has opened nothing, so a configuration can be tried out anywhere.
func TestShutdownBeforeStart(t *testing.T) {
	source := always()
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	m, l := r.newMetrics(), r.newLogs()
	require.NoError(t, m.Shutdown(t.Context()))
	assert.NotEmpty(t, r.instances(), "the logs pipeline still uses it")
	require.NoError(t, l.Shutdown(t.Context()))
	assert.Empty(t, r.opened)
	assert.Zero(t, source.reads.Load())
	assert.Empty(t, r.instances())
}

// The pipelines of one receiver share its sources: these are read for the metrics, and the logs pipeline takes the events found.
func TestPipelinesShareTheirSource(t *testing.T) {
	nvml, amd := always(healthy("GPU-1")), always(healthy("0123456789abcdef"))
	r := newRig(t, map[string]gpu.Source{"nvml": nvml, "amdgpu": amd})
	m, l := r.newMetrics(), r.newLogs()
	require.NoError(t, l.Start(t.Context(), r.host))
	require.NoError(t, m.Start(t.Context(), r.host))
	eventually(t, func() bool { return nvml.reads.Load() > 10 && amd.reads.Load() > 10 }, "both are read")
	require.NoError(t, l.Shutdown(t.Context()))
	require.NoError(t, m.Shutdown(t.Context()))

	assert.Equal(t, []string{"amdgpu", "nvml"}, r.opened, "each source is made once")
	messages := int64(len(r.metrics.AllMetrics()))
	reads := nvml.reads.Load() + amd.reads.Load()
	assert.GreaterOrEqual(t, reads, messages)
	assert.LessOrEqual(t, reads, messages+2, "each is read once for each message; the last of each may have been cancelled")
	assert.EqualValues(t, 1, nvml.closed.Load())
	assert.EqualValues(t, 1, amd.closed.Load())
}

// Another receiver has sources of its own.
func TestReceiversDoNotShare(t *testing.T) {
	r := newRig(t, map[string]gpu.Source{"nvml": always()})
	first := r.newMetrics()
	other := *r.cfg
	r.cfg = &other
	second := r.newMetrics()
	require.NoError(t, first.Start(t.Context(), r.host))
	require.NoError(t, second.Start(t.Context(), r.host))
	assert.Equal(t, []string{"nvml", "nvml"}, r.opened)
	require.NoError(t, first.Shutdown(t.Context()))
	require.NoError(t, second.Shutdown(t.Context()))
}

// Without a metrics pipeline, the logs pipeline reads.
func TestLogsAlone(t *testing.T) {
	source := &fakeSource{next: func(_ context.Context, read int) (*gpu.Node, error) {
		if read == 2 {
			return nodeOf(lost("GPU-1")), nil
		}
		return nodeOf(healthy("GPU-1")), nil
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.run(r.newLogs())
	eventually(t, func() bool { return r.logs.LogRecordCount() == 2 }, "it was lost, and is well again")
	assert.Empty(t, r.metrics.AllMetrics())
}

// The query to a source follows from the enabled metrics and the existing pipelines.
func TestSourceRequirements(t *testing.T) {
	r := newRig(t, map[string]gpu.Source{"nvml": always()})
	r.cfg.Metrics.HwPower.Enabled = false
	r.cfg.Metrics.HwGpuSmOccupancy.Enabled = true
	r.run(r.newMetrics())
	assert.False(t, r.want.Has(gpu.GroupPower))
	assert.True(t, r.want.Has(gpu.GroupPipes))
	assert.True(t, r.want.Has(gpu.GroupEnergy))
	assert.True(t, r.want.Has(gpu.GroupProcesses))
}

// Without a metrics pipeline only the values needed for events are read, and processes only if their events are enabled, or for the containers
// that events of GPUs and of allocations name.
func TestNothingIsReadForNothing(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	assert.Equal(t, gpu.GroupProcesses, cfg.groups(false, true, true)&(gpu.GroupProcesses|gpu.GroupEnergy|gpu.GroupUtilization))
	requests := *cfg
	requests.Attribution.PodResources = &attribution.PodResourcesConfig{}
	assert.Equal(t, record.Wanted(new(metadata.MetricsConfig), &cfg.Events, true), requests.groups(false, true, true))
	assert.False(t, cfg.groups(false, true, false).Has(gpu.GroupPower|gpu.GroupMemory|gpu.GroupProcesses))
	assert.True(t, cfg.groups(false, true, false).Has(gpu.GroupEvents))
	cfg.Metrics.HwGpuXids.Enabled = false
	assert.False(t, cfg.groups(true, false, false).Has(gpu.GroupEvents), "nobody takes them")

	cfg.MaxProcesses = 0
	processes := gpu.GroupProcesses | gpu.GroupProcessUtilization
	assert.False(t, cfg.groups(true, true, false).Has(processes))
	assert.True(t, cfg.groups(true, true, true).Has(processes), "for the containers")

	for _, events := range []struct{ xids, allocations, status bool }{{xids: true}, {allocations: true}, {status: true}, {}} {
		r := newRig(t, map[string]gpu.Source{"nvml": always()})
		r.cfg.Attribution.PodResources = &attribution.PodResourcesConfig{Endpoint: "unix:///nonexistent/kubelet.sock"}
		r.cfg.Events.HwGpuXid.Enabled, r.cfg.Events.HwGpuStatus.Enabled = events.xids, events.status
		r.cfg.Events.ContainerGpuAllocated.Enabled, r.cfg.Events.ContainerGpuReleased.Enabled = false, events.allocations
		r.run(r.newLogs())
		assert.False(t, r.want.Has(gpu.GroupPower))
		for _, s := range r.sources() {
			assert.Equal(t, events.xids || events.allocations || events.status, s.attributor != nil, "the kubelet is asked for the events that name containers")
		}
	}
}

// If a source cannot be created, the start of each pipeline fails with the source's key. Sources created before it are closed.
func TestSourceThatCannotBeMade(t *testing.T) {
	first := always()
	r := newRigOf(t, func(key string, _ *Config, _ gpu.Group) (gpu.Source, error) {
		if key == "nvml" {
			return nil, errors.New("library_path: no such file")
		}
		return first, nil
	})
	m, l := r.newMetrics(), r.newLogs()
	require.EqualError(t, m.Start(t.Context(), r.host), "scrapers::nvml::library_path: no such file")
	require.EqualError(t, l.Start(t.Context(), r.host), "scrapers::nvml::library_path: no such file")
	require.NoError(t, m.Shutdown(t.Context()))
	require.NoError(t, l.Shutdown(t.Context()))
	assert.EqualValues(t, 1, first.closed.Load())
	assert.Empty(t, r.instances())
}

// hung is a source whose Read ignores its context and Close, and ends with the test.
func hung(t *testing.T) (source *fakeSource, end func()) {
	t.Helper()
	stuck := make(chan struct{})
	return &fakeSource{next: func(context.Context, int) (*gpu.Node, error) {
		<-stuck
		return nodeOf(healthy("GPU-1")), nil
	}}, sync.OnceFunc(func() { close(stuck) })
}

func TestShutdownWhileAReadHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, end := hung(t)
		defer end()
		r := newRig(t, map[string]gpu.Source{"nvml": source, "amdgpu": always(healthy("0123456789abcdef"))})
		r.factory.waits = defaultWaits()
		m, l := r.newMetrics(), r.newLogs()
		require.NoError(t, m.Start(t.Context(), r.host))
		eventually(t, func() bool { return source.reads.Load() == 1 && len(r.metrics.AllMetrics()) >= 3 }, "it hangs, and costs the other nothing")
		require.NoError(t, l.Start(t.Context(), r.host), "nor does it keep another pipeline from starting")

		require.NoError(t, m.Shutdown(t.Context())) // although the read hangs until below
		require.NoError(t, l.Shutdown(t.Context()))
		assert.EqualValues(t, 1, source.closed.Load(), "it is closed")
		assert.NotEmpty(t, r.messages("Read did not end"))
		assert.Empty(t, r.instances())

		count := len(r.metrics.AllMetrics())
		end()
		synctest.Wait()
		assert.Len(t, r.metrics.AllMetrics(), count, "what comes after the shutdown is not sent: the exporters are gone")
	})
}

func TestShutdownWhileTheDriverCannotBeReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		source := always(healthy("GPU-1"))
		source.close = func() error { <-stuck; return nil }
		defer close(stuck)
		r := newRig(t, map[string]gpu.Source{"nvml": source})
		r.factory.waits = defaultWaits()
		m := r.newMetrics()
		require.NoError(t, m.Start(t.Context(), r.host))
		eventually(t, func() bool { return source.reads.Load() > 0 }, "it runs")
		require.NoError(t, m.Shutdown(t.Context())) // although the driver is stuck until the end of this test
		assert.Len(t, r.messages("Driver was not released"), 1)
	})
}

// A cancelled read is aborted, not left behind, and its result is discarded.
func TestShutdownCancelsAReadThatCanBeCancelled(t *testing.T) {
	source := &fakeSource{next: func(ctx context.Context, _ int) (*gpu.Node, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	m := r.newMetrics()
	require.NoError(t, m.Start(t.Context(), r.host))
	eventually(t, func() bool { return source.reads.Load() == 1 }, "it reads")
	require.NoError(t, m.Shutdown(t.Context()))
	assert.Empty(t, r.log.All())
}

func TestErrorOfCloseIsReported(t *testing.T) {
	source := always()
	source.close = func() error { return errors.New("it does not close") }
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	m := r.newMetrics()
	require.NoError(t, m.Start(t.Context(), r.host))
	require.EqualError(t, m.Shutdown(t.Context()), "it does not close")
}

// Each read is bounded by the timeout.
func TestReadHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bounds := make(chan time.Duration, 1)
		source := &fakeSource{next: func(ctx context.Context, _ int) (*gpu.Node, error) {
			if deadline, ok := ctx.Deadline(); ok {
				select {
				case bounds <- time.Until(deadline):
				default:
				}
			}
			return nodeOf(), nil
		}}
		r := newRig(t, map[string]gpu.Source{"nvml": source})
		r.run(r.newMetrics())
		assert.Equal(t, patience, <-bounds)
	})
}

// Empty data is not sent: at most intervals there are no events.
func TestNothingEmptyIsSent(t *testing.T) {
	source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) { return nodeOf(healthy("GPU-1")), nil }}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	logs := &counting{}
	l, err := r.factory.createLogs(t.Context(), r.set, r.cfg, logs.logs(t))
	require.NoError(t, err)
	r.run(r.newMetrics(), l)
	eventually(t, func() bool { return source.reads.Load() > 6 }, "it runs")
	for _, md := range r.metrics.AllMetrics() {
		assert.Positive(t, md.DataPointCount())
	}
	assert.Zero(t, logs.n(), "nothing has happened")
}
