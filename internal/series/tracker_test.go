// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// message is a message by resource, metric and attribute value of the point.
type message map[string]map[string][]string

func (m message) metrics(timestamp time.Time) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	for _, resource := range sorted(m) {
		rm := metrics.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr("container.id", resource)
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.Scope().SetName("gpu")
		for _, name := range sorted(m[resource]) {
			metric := sm.Metrics().AppendEmpty()
			metric.SetName(name)
			metric.SetUnit("By")
			var dps pmetric.NumberDataPointSlice
			if name == "gauge" {
				dps = metric.SetEmptyGauge().DataPoints()
			} else {
				sum := metric.SetEmptySum()
				sum.SetIsMonotonic(name == "total")
				sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
				dps = sum.DataPoints()
			}
			for _, value := range m[resource][name] {
				dp := dps.AppendEmpty()
				dp.Attributes().PutStr("hw.id", value)
				dp.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
				dp.SetTimestamp(pcommon.NewTimestampFromTime(timestamp))
				dp.SetIntValue(7)
			}
		}
	}
	return metrics
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// lines returns a line for each point, in the order of the message, and checks what every ended point is like.
func lines(t *testing.T, metrics pmetric.Metrics, read time.Time) []string {
	t.Helper()
	var all []string
	live := false
	for i, rm := range metrics.ResourceMetrics().All() {
		ended := map[string]int{}
		forEach(metrics, func(_ key, p place) {
			if p.resource != rm {
				return
			}
			id, _ := p.point.Attributes().Get("hw.id")
			resource, _ := rm.Resource().Attributes().Get("container.id")
			line := fmt.Sprintf("%s %s %s %s", resource.Str(), p.metric.Name(), p.metric.Type(), id.Str())
			assert.Equal(t, "gpu", p.scope.Scope().Name())
			assert.Equal(t, "By", p.metric.Unit())
			if p.metric.Type() == pmetric.MetricTypeSum {
				assert.Equal(t, p.metric.Name() == "total", p.metric.Sum().IsMonotonic())
				assert.Equal(t, pmetric.AggregationTemporalityCumulative, p.metric.Sum().AggregationTemporality())
			}
			assert.Equal(t, start, p.point.StartTimestamp().AsTime())
			if p.point.Flags().NoRecordedValue() {
				assert.False(t, live, "ended points stand before the live ones")
				assert.Equal(t, read.Add(-time.Millisecond), p.point.Timestamp().AsTime())
				assert.Equal(t, pmetric.NumberDataPointValueTypeEmpty, p.point.ValueType())
				ended[p.metric.Name()]++
				line = "ended " + line
			} else {
				live = true
				assert.Equal(t, read, p.point.Timestamp().AsTime())
			}
			all = append(all, line)
		})
		for name, n := range ended {
			assert.Equal(t, 1, n, "ResourceMetrics %d has more than one ended point of %s", i, name)
		}
	}
	return all
}

func TestEnd(t *testing.T) {
	six := message{"a": {"gauge": {"1", "2", "3", "4", "5", "6"}}}
	for _, tt := range []struct {
		name          string
		first, second message
		want          []string
	}{
		{"nothing ends", six, six, []string{
			"a gauge Gauge 1", "a gauge Gauge 2", "a gauge Gauge 3", "a gauge Gauge 4", "a gauge Gauge 5", "a gauge Gauge 6",
		}},
		{"three of six", six, message{"a": {"gauge": {"2", "4", "6"}}}, []string{
			"ended a gauge Gauge 1", "ended a gauge Gauge 3", "ended a gauge Gauge 5", "a gauge Gauge 2", "a gauge Gauge 4", "a gauge Gauge 6",
		}},
		{"a container restarts", message{"a": {"gauge": {"1"}, "total": {"1"}}}, message{"b": {"gauge": {"1"}, "total": {"1"}}}, []string{
			"ended a gauge Gauge 1", "ended a total Sum 1", "b gauge Gauge 1", "b total Sum 1",
		}},
		{"another attribute", message{"a": {"total": {"1"}}}, message{"a": {"total": {"2"}}}, []string{"ended a total Sum 1", "a total Sum 2"}},
		{"everything", message{"a": {"gauge": {"1"}, "sum": {"1", "2"}}, "b": {"total": {"1"}}}, message{}, []string{
			"ended a gauge Gauge 1", "ended a sum Sum 1", "ended a sum Sum 2", "ended b total Sum 1",
		}},
		{"from nothing", message{}, message{"a": {"gauge": {"1"}}}, []string{"a gauge Gauge 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tracker Tracker
			later := start.Add(time.Minute)
			lines(t, tracker.End(tt.first.metrics(start), pcommon.NewTimestampFromTime(start)), start)
			assert.Equal(t, tt.want, lines(t, tracker.End(tt.second.metrics(later), pcommon.NewTimestampFromTime(later)), later))
			// A series ends once.
			later = later.Add(time.Minute)
			again := lines(t, tracker.End(tt.second.metrics(later), pcommon.NewTimestampFromTime(later)), later)
			assert.NotContains(t, fmt.Sprint(again), "ended")
		})
	}
}

// TestEndBeforeStart: after the clock was set back, an ended point does not end before it starts.
func TestEndBeforeStart(t *testing.T) {
	var tracker Tracker
	earlier := start.Add(-time.Hour)
	tracker.End(message{"a": {"total": {"1"}}}.metrics(start), pcommon.NewTimestampFromTime(start))
	ended := tracker.End(pmetric.NewMetrics(), pcommon.NewTimestampFromTime(earlier))
	forEach(ended, func(_ key, p place) {
		assert.LessOrEqual(t, p.point.StartTimestamp(), p.point.Timestamp())
	})
	assert.Equal(t, 1, ended.DataPointCount())
}

func BenchmarkEnd(b *testing.B) {
	m := message{}
	for r := range 65 {
		m[fmt.Sprint("container", r)] = message{"": {"gauge": {"GPU-00000000-0000-0000-0000-000000000000"}, "sum": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}}}[""]
	}
	metrics := m.metrics(start)
	var tracker Tracker
	for b.Loop() {
		tracker.End(metrics, pcommon.NewTimestampFromTime(start))
	}
	b.ReportMetric(float64(len(tracker.last)), "bytes/kept")
	b.ReportMetric(float64(metrics.DataPointCount()), "points")
}
