// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// throttled returns a GPU that is too hot, or is not any more.
func throttled(id string, hot bool) gpu.Device {
	d := healthy(id)
	d.Throttle[gpu.ThrottleHWThermal].Active = gpu.Some(hot)
	return d
}

// names returns the events that a sink has.
func names(logs *consumertest.LogsSink) (names []string) {
	for _, record := range records(logs) {
		names = append(names, record.EventName())
	}
	return names
}

// A receiver of logs alone reads what shows that a GPU is throttled, and sends the beginning after throttled_after, and the end.
func TestThrottlingWithLogsAlone(t *testing.T) {
	for name, after := range map[string]time.Duration{"at once": 0, "later": time.Hour} {
		t.Run(name, func(t *testing.T) {
			var hot atomic.Bool
			source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) {
				node := nodeOf(throttled("GPU-1", hot.Load()))
				node.Time = time.Now()
				return node, nil
			}}
			r := newRig(t, map[string]gpu.Source{"nvml": source})
			r.cfg.ThrottledAfter = after
			r.run(r.newLogs())
			reads := func(n int64) {
				t.Helper()
				until := source.reads.Load() + n
				eventually(t, func() bool { return source.reads.Load() >= until }, "reads")
			}
			assert.NotZero(t, r.want&gpu.GroupThrottle, "it is read for the event alone")
			reads(2)
			hot.Store(true)
			reads(2)
			hot.Store(false)
			reads(2)
			if after > 0 {
				assert.Empty(t, names(r.logs))
				return
			}
			eventually(t, func() bool { return len(names(r.logs)) == 2 }, "both events")
			assert.Equal(t, []string{"hw.gpu.throttled.started", "hw.gpu.throttled.ended"}, names(r.logs))
		})
	}
}

// GPUs that kubernetes_exec reads have the same events, by their own times.
func TestThrottlingAgentless(t *testing.T) {
	cfg := fleetConfig(t, prod())
	require.Equal(t, time.Minute, cfg.ThrottledAfter, "the default")
	sink := &consumertest.LogsSink{}
	f := stoppedFleet(t, cfg, zap.NewNop(), nil, sink)
	for i, hot := range []bool{false, true, true, true, true, false} {
		node := nodeRead("a", throttled("GPU-1", hot))
		node.Time = node.Time.Add(time.Duration(i) * 30 * time.Second)
		f.send(t.Context(), "prod", node, nil)
		if i < 3 {
			assert.Empty(t, names(sink), "it has not lasted long enough")
		}
	}
	require.Equal(t, []string{"hw.gpu.throttled.started", "hw.gpu.throttled.ended"}, names(sink))
	resource := sink.AllLogs()[0].ResourceLogs().At(0).Resource().Attributes().AsRaw()
	assert.Equal(t, "a", resource["k8s.node.name"])
	lasted, _ := records(sink)[1].Attributes().Get("hw.gpu.throttle.duration")
	assert.InDelta(t, 120, lasted.Double(), 1e-9)
}
