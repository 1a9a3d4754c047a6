// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	commandline "flag"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/plogtest"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/pmetrictest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// go test ./internal/record -update writes the golden files.
var update = commandline.Bool("update", false, "write the golden files")

// compare compares metrics, including times, with a golden file. The order does not matter.
func compare(t *testing.T, name string, got pmetric.Metrics) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, golden.WriteMetricsToFile(path, got, golden.SkipMetricTimestampNormalization()))
	}
	want, err := golden.ReadMetrics(path)
	require.NoError(t, err)
	require.NoError(t, pmetrictest.CompareMetrics(want, got, pmetrictest.IgnoreResourceMetricsOrder(),
		pmetrictest.IgnoreMetricsOrder(), pmetrictest.IgnoreMetricDataPointsOrder(), pmetrictest.IgnoreDatapointAttributesOrder()))
}

func compareLogs(t *testing.T, name string, got plog.Logs) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, golden.WriteLogsToFile(path, got))
	}
	want, err := golden.ReadLogs(path)
	require.NoError(t, err)
	require.NoError(t, plogtest.CompareLogs(want, got))
}

// Everything that can be sent for a node, at its second read.
func TestGoldenFullNode(t *testing.T) {
	compare(t, "full_node.yaml", twoReads(newRecorder(everything())))
}

// These metrics are disabled by default: they are redundant, costly, or useful to few.
func TestOffByDefault(t *testing.T) {
	r := newRecorder(metadata.NewDefaultMetricsBuilderConfig())
	names := otlptest.Names(otlptest.Points(r.Record(fullNode())))
	off := slices.DeleteFunc(otlptest.Names(recordAll(fullNode())), func(name string) bool { return slices.Contains(names, name) })
	assert.Equal(t, []string{
		"container.gpu.media.utilization", "hw.gpu.bar1.memory.limit", "hw.gpu.bar1.memory.usage", "hw.gpu.ecc.lifetime", "hw.gpu.ecc.location.errors",
		"hw.gpu.encoder.frame_rate", "hw.gpu.encoder.latency", "hw.gpu.encoder.session.count", "hw.gpu.fan.speed",
		"hw.gpu.frame_buffer_capture.frame_rate", "hw.gpu.frame_buffer_capture.latency", "hw.gpu.frame_buffer_capture.session.count",
		"hw.gpu.interconnect.link.bandwidth", "hw.gpu.interconnect.link.bit_error_ratio", "hw.gpu.interconnect.link.errors",
		"hw.gpu.interconnect.link.fec.errors", "hw.gpu.interconnect.link.io", "hw.gpu.interconnect.link.state",
		"hw.gpu.interconnect.link.width", "hw.gpu.memory.power", "hw.gpu.memory.protected.usage",
		"hw.gpu.memory.system.limit", "hw.gpu.memory.system.usage", "hw.gpu.memory.utilization", "hw.gpu.memory.visible.limit",
		"hw.gpu.memory.visible.usage", "hw.gpu.mode.current", "hw.gpu.module.power", "hw.gpu.pcie.naks", "hw.gpu.pcie.recoveries",
		"hw.gpu.pcie.replay.rollovers", "hw.gpu.peer.status", "hw.gpu.pipe.utilization", "hw.gpu.power.instant", "hw.gpu.sm.occupancy",
		"hw.gpu.speed.limit", "hw.gpu.temperature.detail", "hw.gpu.xcc.utilization", "hw.voltage", "process.gpu.evicted.time",
		"process.gpu.media.utilization", "process.gpu.sdma.time",
	}, off)
}

// The points of two nodes that differ only in their names do not collide without resources.
func TestTwoNodesDoNotCollide(t *testing.T) {
	metrics := newRecorder(everything()).Record(fullNode())
	assert.Empty(t, otlptest.Collisions(metrics))
	assert.Empty(t, otlptest.Collisions(otlptest.TwoNodes(metrics)))
	assert.Equal(t, 2*metrics.DataPointCount(), otlptest.TwoNodes(metrics).DataPointCount())
}

// Points have only the attributes that the documentation lists for their metric.
func TestDeclaredAttributes(t *testing.T) {
	declared := map[string][]string{}
	for _, info := range fields(reflect.ValueOf(metadata.MetricsInfo)) {
		declared[info.FieldByName("Name").String()] = info.FieldByName("Attributes").Interface().([]string)
	}
	points := recordAll(fullNode())
	require.NotEmpty(t, points)
	for _, p := range points {
		for name := range p.Attributes {
			assert.Contains(t, declared[p.Metric], name, p.Metric)
		}
	}
}
