// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// everything enables all metrics and all resource attributes.
func everything() metadata.MetricsBuilderConfig {
	cfg := metadata.NewDefaultMetricsBuilderConfig()
	enable(&cfg.Metrics, true)
	enable(&cfg.ResourceAttributes, true)
	return cfg
}

// enable switches all metrics, attributes or events of a configuration on or off.
func enable(config any, enabled bool) {
	for _, value := range fields(reflect.ValueOf(config).Elem()) {
		value.FieldByName("Enabled").SetBool(enabled)
	}
}

// enableOne switches one metric, attribute or event, given by its name, on or off.
func enableOne(t testing.TB, config any, name string, enabled bool) {
	t.Helper()
	v := reflect.ValueOf(config).Elem()
	for field, value := range fields(v) {
		if field.Tag.Get("mapstructure") == name {
			value.FieldByName("Enabled").SetBool(enabled)
			return
		}
	}
	require.FailNow(t, "no such name", name)
}

// metricNames are all metrics of metadata.yaml.
func metricNames() []string {
	var names []string
	for _, info := range fields(reflect.ValueOf(metadata.MetricsInfo)) {
		names = append(names, info.FieldByName("Name").String())
	}
	return names
}

func newSettings() receiver.Settings { return receivertest.NewNopSettings(metadata.Type) }

// newRecorder returns a Recorder made at a fixed time, one minute before the first read.
func newRecorder(cfg metadata.MetricsBuilderConfig) *Recorder {
	r := New(cfg, newSettings())
	r.builder.Reset(metadata.WithStartTime(pcommon.NewTimestampFromTime(readAt.Add(-time.Minute))))
	return r
}

// recordAll records a node once, everything enabled.
func recordAll(node *gpu.Node) []otlptest.Point {
	return otlptest.Points(newRecorder(everything()).Record(node))
}

// values returns the values of all points by series.
func values(points []otlptest.Point) map[string]float64 {
	got := make(map[string]float64, len(points))
	for series, p := range otlptest.BySeries(points) {
		got[series] = p.Value
	}
	return got
}

// twoReads returns the metrics of the second of two reads, which is half a minute after the first.
func twoReads(r *Recorder) pmetric.Metrics {
	node := fullNode()
	r.Record(node)
	node.Time = readAt.Add(30 * time.Second)
	return r.Record(node)
}
