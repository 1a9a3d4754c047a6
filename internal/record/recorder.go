// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package record converts a gpu.Node to OTLP. It is the only package that knows the names of metrics and attributes.
//
// An absent value makes no point: every value passes through Opt.Get or Counter.Get.
package record

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// Recorder records the nodes of one source. It keeps the start times of counters, so each source needs its own Recorder.
// It is not safe for concurrent use.
type Recorder struct {
	builder   *metadata.MetricsBuilder
	resources *metadata.ResourceBuilder
	starts    startTimes
	source    sourceState

	// The enabled metrics.
	devices    []metric[*devicePoints]
	processes  []metric[*processPoints]
	containers []metric[*containerPoints]
}

// New returns a Recorder of the metrics that the configuration enables.
func New(config metadata.MetricsBuilderConfig, settings receiver.Settings) *Recorder {
	builder := metadata.NewMetricsBuilder(config, settings)
	return &Recorder{
		builder:    builder,
		resources:  builder.NewResourceBuilder(),
		starts:     startTimes{devices: map[string]deviceSeries{}},
		devices:    enabled(deviceMetrics(&config.Metrics)),
		processes:  enabled(processMetrics(&config.Metrics)),
		containers: enabled(containerMetrics(&config.Metrics)),
	}
}

// Record returns the metrics of the node: one resource for the host, one for each process and one for each container. The
// metrics do not refer to the node.
func (r *Recorder) Record(node *gpu.Node) pmetric.Metrics {
	ts := pcommon.NewTimestampFromTime(node.Time)
	r.builder.StartBy(ts)
	r.starts.begin(node.Time)
	r.source.record(r.builder, ts, node)
	r.recordPresence(ts, node)
	for i := range node.Devices {
		points := newDevicePoints(r, ts, &node.Devices[i])
		for _, m := range r.devices {
			m.record(points)
		}
	}
	r.starts.end()
	r.emit(hostResource(r.resources, &node.Host))
	r.recordProcesses(ts, node)
	r.recordContainers(ts, node)
	return r.builder.Emit()
}

// emit assigns the points recorded since the last emit to the resource. A resource without points is not sent.
func (r *Recorder) emit(resource pcommon.Resource) {
	r.builder.EmitForResource(metadata.WithResource(resource))
}
