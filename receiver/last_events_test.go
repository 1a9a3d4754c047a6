// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// An event is sent with the read that finds it, whichever receiver starts first and however long the interval is: the driver reports an XID
// once, and it is often the reason why the node is drained.
func TestEventsAreSentWithTheirRead(t *testing.T) {
	for _, first := range []string{"metrics", "logs"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := nodeOf(healthy("GPU-1"))
				node.Events = []gpu.Event{{Type: gpu.EventXID, Time: time.Unix(100, 0), DeviceID: "GPU-1", XID: 79}}
				source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) { return node, nil }}
				r := newRig(t, map[string]gpu.Source{"nvml": source})
				r.cfg.ControllerConfig.CollectionInterval = time.Hour
				r.cfg.ControllerConfig.InitialDelay = 0
				l, m := r.newLogs(), r.newMetrics()
				if first == "logs" {
					require.NoError(t, l.Start(t.Context(), r.host))
					synctest.Wait() // for its tick, if it had one
				}
				require.NoError(t, m.Start(t.Context(), r.host))
				eventually(t, func() bool { return len(r.metrics.AllMetrics()) == 1 }, "the only read")
				if first == "metrics" {
					require.NoError(t, l.Start(t.Context(), r.host))
				}
				eventually(t, func() bool { return len(records(r.logs)) == 1 }, "the event")
				assert.Equal(t, "hw.gpu.xid", records(r.logs)[0].EventName())
				require.NoError(t, m.Shutdown(t.Context()))
				require.NoError(t, l.Shutdown(t.Context()))
				assert.Len(t, records(r.logs), 1)
			})
		})
	}
}

// What waits is sent by the shutdown of the first receiver, whichever that is: then the consumers of all are still there.
func TestLastEventsAreSent(t *testing.T) {
	for _, first := range []string{"metrics", "logs"} {
		t.Run(first, func(t *testing.T) {
			r := newRig(t, map[string]gpu.Source{"nvml": always(healthy("GPU-1"))})
			r.cfg.ControllerConfig.CollectionInterval = time.Hour
			receivers := map[string]component.Component{"metrics": r.newMetrics(), "logs": r.newLogs()}
			require.NoError(t, receivers["metrics"].Start(t.Context(), r.host))
			require.NoError(t, receivers["logs"].Start(t.Context(), r.host))
			eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "the only read")
			for _, s := range r.sources() { // found, without a wake-up
				s.local[0].pipeline.Take(t.Context(), nodeOf(lost("GPU-1")))
			}
			require.NoError(t, receivers[first].Shutdown(t.Context()))
			require.Len(t, records(r.logs), 1)
			assert.Equal(t, "hw.gpu.status", records(r.logs)[0].EventName())
			delete(receivers, first)
			for _, second := range receivers {
				require.NoError(t, second.Shutdown(t.Context()))
			}
			assert.Len(t, records(r.logs), 1)
		})
	}
}

// XIDs that were being summed at a shutdown are sent.
func TestLastSumsAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &watchedSource{Source: always(healthy("GPU-1")), found: make(chan func([]gpu.Event), 1)}
		r := newRig(t, map[string]gpu.Source{"nvml": source})
		r.cfg.ControllerConfig.CollectionInterval = time.Hour
		l, m := r.newLogs(), r.newMetrics()
		require.NoError(t, m.Start(t.Context(), r.host))
		require.NoError(t, l.Start(t.Context(), r.host))
		found := <-source.found
		for range 3 {
			found([]gpu.Event{{Type: gpu.EventXID, Time: time.Unix(100, 0), DeviceID: "GPU-1", XID: 31}})
		}
		eventually(t, func() bool { return len(records(r.logs)) == 1 }, "the first")
		require.NoError(t, m.Shutdown(t.Context()))
		require.Len(t, records(r.logs), 2)
		count, _ := records(r.logs)[1].Attributes().Get("hw.gpu.event.count")
		assert.EqualValues(t, 2, count.Int())
		found([]gpu.Event{{Type: gpu.EventXID, Time: time.Unix(101, 0), DeviceID: "GPU-1", XID: 79}})
		require.NoError(t, l.Shutdown(t.Context()))
		assert.Len(t, records(r.logs), 2, "what a source tells late is not sent")
	})
}

// A receiver of logs alone reads the cluster itself.
func TestLogsOfClusterViewAlone(t *testing.T) {
	r := newRigOf(t, openSource)
	r.cfg.Scrapers = map[string]component.Config{clusterKey: &ClusterConfig{
		API: kube.Config{Endpoint: "https://127.0.0.1:1", AuthType: kube.AuthNone}, ResourceNames: []string{"nvidia.com/gpu"},
	}}
	l := r.newLogs()
	require.NoError(t, l.Start(t.Context(), r.host))
	eventually(t, func() bool { return len(records(r.logs)) > 0 }, "no event of a cluster that cannot be read")
	require.NoError(t, l.Shutdown(t.Context()))
	assert.Equal(t, "hw.gpu.source.failed", records(r.logs)[0].EventName())
}

// watchedSource learns of events between reads.
type watchedSource struct {
	gpu.Source
	found chan func([]gpu.Event)
	last  func() []gpu.Event // may be nil
}

func (s *watchedSource) Watch(found func([]gpu.Event)) { s.found <- found }

func (s *watchedSource) LastEvents() []gpu.Event {
	if s.last == nil {
		return nil
	}
	return s.last()
}

// The source is queried once more at the shutdown, when its last read has ended.
func TestSourceLastEvents(t *testing.T) {
	xid := []gpu.Event{{Type: gpu.EventXID, Time: time.Unix(100, 0), DeviceID: "GPU-1", XID: 79}}
	for name, first := range map[string][]string{"metrics first": {"metrics", "logs"}, "logs first": {"logs", "metrics"}, "logs alone": {"logs"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reading := false
				source := &watchedSource{found: make(chan func([]gpu.Event), 1), last: func() []gpu.Event {
					assert.False(t, reading)
					return xid
				}}
				source.Source = &fakeSource{next: func(ctx context.Context, _ int) (*gpu.Node, error) {
					reading = true
					<-ctx.Done()
					reading = false
					return nil, ctx.Err()
				}}
				r := newRig(t, map[string]gpu.Source{"nvml": source})
				receivers := map[string]component.Component{"logs": r.newLogs()}
				if len(first) > 1 {
					receivers["metrics"] = r.newMetrics()
				}
				for _, c := range receivers {
					require.NoError(t, c.Start(t.Context(), r.host))
				}
				synctest.Wait()
				require.NoError(t, receivers[first[0]].Shutdown(t.Context()))
				require.Len(t, records(r.logs), 1)
				assert.Equal(t, "hw.gpu.xid", records(r.logs)[0].EventName())
				for _, c := range receivers {
					require.NoError(t, c.Shutdown(t.Context()))
				}
				assert.Len(t, records(r.logs), 1)
			})
		})
	}
}

// A source that does not answer the last question delays the shutdown for a bounded time, and keeps no other event from being sent.
func TestSourceHangsLastEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		defer close(stuck)
		source := &watchedSource{Source: always(healthy("GPU-1")), found: make(chan func([]gpu.Event), 1), last: func() []gpu.Event { <-stuck; return nil }}
		r := newRig(t, map[string]gpu.Source{"nvml": source})
		r.cfg.ControllerConfig.CollectionInterval = time.Hour
		waits := defaultWaits()
		r.factory.waits = waits
		l, m := r.newLogs(), r.newMetrics()
		require.NoError(t, m.Start(t.Context(), r.host))
		require.NoError(t, l.Start(t.Context(), r.host))
		synctest.Wait()
		for _, s := range r.sources() { // found, without a wake-up
			s.local[0].pipeline.Take(t.Context(), nodeOf(lost("GPU-1")))
		}
		start := time.Now()
		require.NoError(t, m.Shutdown(t.Context()))
		assert.LessOrEqual(t, time.Since(start), waits.read)
		assert.Len(t, records(r.logs), 1)
		assert.NotEmpty(t, r.messages("Read did not end before the shutdown"))
		require.NoError(t, l.Shutdown(t.Context()))
	})
}

// A source reports an event once. An event that it reported in a read that the shutdown interrupts is sent.
func TestEventsOfAnInterruptedReadAreSent(t *testing.T) {
	source := &fakeSource{next: func(ctx context.Context, _ int) (*gpu.Node, error) {
		<-ctx.Done()
		node := nodeOf(healthy("GPU-1"))
		node.Events = []gpu.Event{{Type: gpu.EventXID, Time: time.Unix(100, 0), DeviceID: "GPU-1", XID: 79}}
		return node, nil
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	m, l := r.newMetrics(), r.newLogs()
	require.NoError(t, m.Start(t.Context(), r.host))
	require.NoError(t, l.Start(t.Context(), r.host))
	eventually(t, func() bool { return source.reads.Load() == 1 }, "it reads")
	require.NoError(t, m.Shutdown(t.Context()))
	require.Len(t, records(r.logs), 1)
	assert.Equal(t, "hw.gpu.xid", records(r.logs)[0].EventName())
	require.NoError(t, l.Shutdown(t.Context()))
}

// What a source learns between reads is sent without a read.
func TestEventsBetweenReads(t *testing.T) {
	source := &watchedSource{Source: always(healthy("GPU-1")), found: make(chan func([]gpu.Event), 1)}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.cfg.ControllerConfig.CollectionInterval = time.Hour
	r.run(r.newMetrics(), r.newLogs())
	(<-source.found)([]gpu.Event{{Type: gpu.EventXID, Time: time.Unix(100, 0), DeviceID: "GPU-1", XID: 79}})
	eventually(t, func() bool { return len(records(r.logs)) == 1 }, "the event")
	assert.Equal(t, "hw.gpu.xid", records(r.logs)[0].EventName())
}

// Without a logs receiver a source is not queried for events.
func TestNoEventsBetweenReadsWithoutALogsPipeline(t *testing.T) {
	source := &watchedSource{Source: always(healthy("GPU-1")), found: make(chan func([]gpu.Event), 1)}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.run(r.newMetrics())
	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "a read")
	assert.Empty(t, source.found)
}
