// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// message is a host with one healthy GPU, which is allocated to a container.
type message struct {
	t       *testing.T
	metrics pmetric.Metrics
	host    pmetric.ResourceMetrics
	pod     pmetric.ResourceMetrics
}

// at returns a time, in seconds after a fixed time.
func timestamp(seconds int) pcommon.Timestamp {
	return pcommon.NewTimestampFromTime(time.Unix(1_700_000_000+int64(seconds), 0))
}

func newMessage(t *testing.T) *message {
	t.Helper()
	m := &message{t: t, metrics: pmetric.NewMetrics()}
	m.host, m.pod = m.metrics.ResourceMetrics().AppendEmpty(), m.metrics.ResourceMetrics().AppendEmpty()
	m.host.Resource().Attributes().PutStr("host.name", "a")
	m.pod.Resource().Attributes().PutStr("container.id", "c")
	m.add(m.host, "hw.gpu.info", "updowncounter", 1, nil)
	for state, value := range map[string]float64{"ok": 1, "failed": 0, "degraded": 0, "predicted_failure": 0} {
		m.add(m.host, "hw.status", "updowncounter", value, map[string]any{"hw.state": state})
	}
	m.add(m.host, "hw.gpu.allocated", "updowncounter", 1, nil)
	m.add(m.pod, "container.gpu.allocated", "updowncounter", 1, map[string]any{"container.id": "c"})
	return m
}

// add adds a point of the GPU at time 0.
func (m *message) add(resource pmetric.ResourceMetrics, name, kind string, value float64, attributes map[string]any) pmetric.NumberDataPoint {
	metric := resource.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName(name)
	metric.SetUnit("1")
	var dp pmetric.NumberDataPoint
	if kind == "gauge" {
		dp = metric.SetEmptyGauge().DataPoints().AppendEmpty()
	} else {
		dp = metric.SetEmptySum().DataPoints().AppendEmpty()
		metric.Sum().SetIsMonotonic(kind == "counter")
		metric.Sum().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	}
	if kind == "counter" {
		metric.SetUnit("J")
	}
	require.NoError(m.t, dp.Attributes().FromRaw(attributes))
	dp.Attributes().PutStr("hw.id", "GPU-1")
	dp.SetDoubleValue(value)
	dp.SetStartTimestamp(timestamp(0))
	dp.SetTimestamp(timestamp(0))
	return dp
}

// counting returns a message with a counter of the GPU and two of the container.
func counting(t *testing.T, start, now int, joules, attributed, idle float64) pmetric.Metrics {
	t.Helper()
	m := newMessage(t)
	points := []pmetric.NumberDataPoint{m.add(m.host, "hw.energy", "counter", joules, nil)}
	mine := map[string]any{"container.id": "c"}
	if attributed >= 0 {
		points = append(points, m.add(m.pod, "container.gpu.energy", "counter", attributed, mine),
			m.add(m.pod, "container.gpu.idle.time", "counter", idle, mine))
	}
	for _, dp := range points {
		dp.SetStartTimestamp(timestamp(start))
		dp.SetTimestamp(timestamp(now))
	}
	return m.metrics
}

func TestSequence(t *testing.T) {
	for name, tt := range map[string]struct {
		start, now               int // of the second message; the first has 0 and 10
		joules, attributed, idle float64
		want                     []string
		restarted                int
	}{
		"continues":                   {0, 20, 300, 150, 13, nil, 0},
		"fell":                        {0, 20, 50, -1, 0, []string{"hw.energy{hw.id=GPU-1} fell from 100 to 50"}, 0},
		"again":                       {20, 20, 50, 0, 0, nil, 3},
		"again with a total":          {20, 20, 50, 3, 0, []string{"container.gpu.energy{container.id=c,hw.id=GPU-1} starts with 3"}, 3},
		"again before the last point": {5, 20, 50, -1, 0, []string{"hw.energy{hw.id=GPU-1} started again at 2023-11-14 22:13:25 +0000 UTC, before its last point of 2023-11-14 22:13:30 +0000 UTC"}, 0},
		"began earlier":               {-5, 20, 500, -1, 0, []string{"hw.energy{hw.id=GPU-1} started at 2023-11-14 22:13:20 +0000 UTC, and then at 2023-11-14 22:13:15 +0000 UTC"}, 0},
		"clock set back":              {-500, -490, 500, 0, 0, nil, 0},
		"more idle than time":         {0, 20, 300, 150, 16, []string{"container.gpu.idle.time{container.id=c,hw.id=GPU-1} grew by 11 in 10 s"}, 0},
		"more attributed than used":   {0, 20, 110, 150, 5, []string{"GPU-1: 100 joules of 10 are attributed to containers"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var s Sequence
			assert.Empty(t, s.Add(counting(t, 0, 10, 100, 50, 5)))
			assert.Equal(t, tt.want, s.Add(counting(t, tt.start, tt.now, tt.joules, tt.attributed, tt.idle)))
			assert.Len(t, s.Restarted, tt.restarted)
			assert.Equal(t, map[string]string{"GPU-1": "ok"}, s.States)
		})
	}
}

func TestSequenceOfIdentity(t *testing.T) {
	named := func(attributes map[string]any) pmetric.Metrics {
		m := newMessage(t)
		require.NoError(t, m.host.ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0).Attributes().FromRaw(attributes))
		return m.metrics
	}
	var s Sequence
	assert.Empty(t, s.Add(named(map[string]any{"hw.id": "GPU-1", "hw.gpu.index": int64(1)})))
	assert.Empty(t, s.Add(named(map[string]any{"hw.id": "GPU-1", "hw.name": "nvidia0"})), "the name is known now")
	assert.Equal(t, []string{"GPU-1: hw.name was nvidia0 and is <nil>"}, s.Add(named(map[string]any{"hw.id": "GPU-1"})))
}
