// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// sharedExporter is one object for metrics and logs, as the file exporter is: gone as soon as one of its two chains is stopped.
type sharedExporter struct {
	metrics, logs func(context.Context) // play what takes the data

	closed                   atomic.Bool
	started, late, delivered atomic.Int64 // deliveries of both signals
}

func (e *sharedExporter) take(ctx context.Context, play func(context.Context)) error {
	e.started.Add(1)
	play(ctx)
	if e.closed.Load() {
		e.late.Add(1)
	} else {
		e.delivered.Add(1)
	}
	return ctx.Err()
}

// shared returns the receivers of a configuration whose pipelines end in the exporter, by signal. They have started.
func (r *rig) shared(e *sharedExporter) map[string]component.Component {
	r.t.Helper()
	metrics, err := consumer.NewMetrics(func(ctx context.Context, _ pmetric.Metrics) error { return e.take(ctx, e.metrics) })
	require.NoError(r.t, err)
	logs, err := consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error { return e.take(ctx, e.logs) })
	require.NoError(r.t, err)
	l, err := r.factory.createLogs(r.t.Context(), r.set, r.cfg, logs)
	require.NoError(r.t, err)
	m := r.newMetricsInto(metrics)
	require.NoError(r.t, l.Start(r.t.Context(), r.host))
	require.NoError(r.t, m.Start(r.t.Context(), r.host))
	return map[string]component.Component{"metrics": m, "logs": l}
}

// stop shuts the receivers down in an order, and the exporter after the first one. It returns how long the first one took.
func (r *rig) stop(e *sharedExporter, receivers map[string]component.Component, first string) time.Duration {
	r.t.Helper()
	start := time.Now()
	require.NoError(r.t, receivers[first].Shutdown(r.t.Context()))
	took := time.Since(start)
	e.closed.Store(true)
	second := map[string]string{"metrics": "logs", "logs": "metrics"}[first]
	require.NoError(r.t, receivers[second].Shutdown(r.t.Context()))
	return took
}

// xids is a source that has an XID in each read.
func xids() *fakeSource {
	return &fakeSource{next: func(_ context.Context, read int) (*gpu.Node, error) {
		node := nodeOf(healthy("GPU-1"))
		node.Events = []gpu.Event{{Type: gpu.EventXID, Time: time.Unix(int64(read), 0), DeviceID: "GPU-1", XID: int64(read)}}
		return node, nil
	}}
}

// The Collector stops the chains of metrics and logs in any order. When the shutdown of the first receiver returns, neither delivers any more.
func TestTheFirstShutdownEndsAllDeliveries(t *testing.T) {
	for _, first := range []string{"metrics", "logs"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := func(context.Context) { time.Sleep(500 * time.Millisecond) }
				e := &sharedExporter{metrics: slow, logs: slow}
				r := newRig(t, map[string]gpu.Source{"nvml": xids()})
				r.factory.waits = defaultWaits()
				receivers := r.shared(e)
				synctest.Wait()
				require.EqualValues(t, 2, e.started.Load(), "a delivery of each signal is on its way")
				took := r.stop(e, receivers, first)
				time.Sleep(time.Hour)
				assert.Zero(t, e.late.Load())
				assert.EqualValues(t, 2, e.delivered.Load())
				assert.Equal(t, 500*time.Millisecond, took, "no longer than they take")
				assert.Empty(t, r.messages("before the shutdown"))
			})
		})
	}
}

// A consumer that hangs delays a shutdown for a bounded time. The other signal's last events are sent, and nothing is delivered afterwards.
func TestShutdownWhileAConsumerHangs(t *testing.T) {
	for _, hangs := range []string{"metrics", "logs"} {
		for _, first := range []string{"metrics", "logs"} {
			t.Run(hangs+" hang, "+first+" first", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					stuck := make(chan struct{})
					e := &sharedExporter{metrics: func(context.Context) {}, logs: func(context.Context) {}}
					if hangs == "metrics" {
						e.metrics = func(context.Context) { <-stuck }
					} else {
						e.logs = func(context.Context) { <-stuck }
					}
					source := xids()
					r := newRig(t, map[string]gpu.Source{"nvml": source})
					r.cfg.ControllerConfig.CollectionInterval = time.Hour
					waits := defaultWaits()
					r.factory.waits = waits
					receivers := r.shared(e)
					synctest.Wait()
					require.EqualValues(t, 2, e.started.Load())
					require.EqualValues(t, 1, e.delivered.Load(), "of the signal that does not hang")
					for _, s := range r.sources() {
						s.local[0].pipeline.Take(t.Context(), nodeOf(lost("GPU-1")))
					}
					assert.LessOrEqual(t, r.stop(e, receivers, first), waits.release+waits.later)
					assert.NotEmpty(t, r.messages("Delivery did not end before the shutdown"))
					assert.EqualValues(t, 1, source.closed.Load())
					before := e.started.Load()
					if hangs == "metrics" {
						assert.EqualValues(t, 2, e.delivered.Load(), "the last event")
					}
					close(stuck)
					time.Sleep(time.Hour)
					assert.Equal(t, before, e.started.Load())
				})
			})
		}
	}
}

// A consumer that hangs and heeds its context, as an exporter without a queue does, has ended before the shutdown returns.
func TestShutdownInterruptsADelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waitForEnd := func(ctx context.Context) { <-ctx.Done() }
		e := &sharedExporter{metrics: waitForEnd, logs: waitForEnd}
		r := newRig(t, map[string]gpu.Source{"nvml": xids()})
		r.factory.waits = defaultWaits()
		receivers := r.shared(e)
		synctest.Wait()
		require.EqualValues(t, 2, e.started.Load())
		r.stop(e, receivers, "logs")
		time.Sleep(time.Hour)
		assert.Zero(t, e.late.Load())
		assert.Equal(t, e.started.Load(), e.delivered.Load())
	})
}

// Nothing that kubernetes_exec reads late is delivered.
func TestFleetDeliversNothingAfterTheShutdown(t *testing.T) {
	cfg := fleetConfig(t, prod())
	require.NoError(t, cfg.Validate())
	r := newRigOf(t, openSource)
	r.cfg = cfg
	m, l := r.newMetrics(), r.newLogs()
	sources, err := r.instances()[cfg].start(t.Context(), r.host)
	require.NoError(t, err)
	f := sources.fleet
	f.reader = statsOf{}
	require.NoError(t, m.Start(t.Context(), r.host))
	require.NoError(t, l.Start(t.Context(), r.host))
	f.send(t.Context(), "prod", nodeRead("a", lost("GPU-1")), nil)
	require.Len(t, r.metrics.AllMetrics(), 1)
	require.Len(t, records(r.logs), 1)
	require.NoError(t, l.Shutdown(t.Context()))
	f.send(t.Context(), "prod", nodeRead("b", lost("GPU-2")), nil)
	f.forget(t.Context(), "prod", "a", false)
	assert.Len(t, r.metrics.AllMetrics(), 1)
	assert.Len(t, records(r.logs), 1)
	require.NoError(t, m.Shutdown(t.Context()))
}
