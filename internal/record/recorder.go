// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package record converts a gpu.Node to OTLP: it decides which metrics, events and attributes the node becomes. The names of metrics come from
// package metadata, and the names of faults from package gpu.
//
// An absent value produces no point: every value passes through Opt.Get or Counter.Get.
package record

import (
	"cmp"
	"slices"

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
	past      map[string]*pastStates // by hw.id

	identities map[int64]*processIdentity // by PID, of the last node

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
	if node.Failure == nil || len(node.Devices) > 0 { // a read that failed as a whole does not end what was known
		r.past = pastStatesOf(node.Devices, r.past)
	}
	r.source.record(r.builder, ts, node)
	recordPresence(r.builder, ts, node)
	for i := range node.Devices {
		d := &node.Devices[i]
		points := newDevicePoints(r.builder, &r.starts, r.past[d.ID], ts, &node.Host, d)
		for _, m := range r.devices {
			m.record(points)
		}
	}
	r.starts.end()
	r.emit(hostResource(r.resources, &node.Host))
	r.recordProcesses(ts, node)
	r.recordContainers(ts, node)
	return metricsWithSchema(r.builder.Emit())
}

// recordProcesses emits one resource for each process, with points for each device that it uses.
func (r *Recorder) recordProcesses(ts pcommon.Timestamp, node *gpu.Node) {
	if len(r.processes) == 0 || node.Failure != nil && len(node.Processes) == 0 {
		return
	}
	// Sources sort processes by device.
	processes := make([]*gpu.Process, len(node.Processes))
	for i := range node.Processes {
		processes[i] = &node.Processes[i]
	}
	slices.SortStableFunc(processes, func(a, b *gpu.Process) int { return cmp.Compare(a.PID, b.PID) })
	identities := make(map[int64]*processIdentity, len(r.identities))
	first := 0 // of the current PID
	for i, p := range processes {
		points := &processPoints{builder: r.builder, ts: ts, process: p}
		if p.Type != gpu.ProcessUnknown {
			points.options = processTypes[p.Type : p.Type+1]
		}
		for _, m := range r.processes {
			m.record(points)
		}
		if i+1 == len(processes) || processes[i+1].PID != p.PID {
			identities[p.PID] = identify(processes[first], r.identities[p.PID])
			r.emit(processResource(r.resources, &node.Host, processes[first], identities[p.PID]))
			first = i + 1
		}
	}
	r.identities = identities
}

// recordContainers emits one resource for each container, with points for each device that it holds or uses.
func (r *Recorder) recordContainers(ts pcommon.Timestamp, node *gpu.Node) {
	var containers []*gpu.Container
	uses := map[*gpu.Container][]*gpu.ContainerUse{}
	for i := range node.Containers {
		use := &node.Containers[i]
		if uses[use.Container] == nil {
			containers = append(containers, use.Container)
		}
		uses[use.Container] = append(uses[use.Container], use)
	}
	nameCounts := map[containerName]int{}
	for _, c := range containers {
		nameCounts[nameOf(c)]++
	}
	for _, c := range containers {
		identity := containerIdentity(c, nameCounts[nameOf(c)] == 1)
		for _, use := range uses[c] {
			points := &containerPoints{builder: r.builder, ts: ts, use: use, identity: identity}
			for _, m := range r.containers {
				m.record(points)
			}
		}
		r.emit(containerResource(r.resources, &node.Host, c))
	}
}

// emit assigns the points recorded since the last emit to the resource. A resource without points is not sent.
func (r *Recorder) emit(resource pcommon.Resource) {
	r.builder.EmitForResource(metadata.WithResource(resource))
}
