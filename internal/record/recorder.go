// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package record turns a gpu.Node into OTLP. It is the only place that knows the names of metrics and attributes.
//
// An absent reading makes no point: every value passes through Opt.Get or Counter.Get on its way.
package record

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// Recorder records the nodes of one source. It keeps the start times of counters, so a source needs a Recorder of its own.
// It is not safe for concurrent use.
type Recorder struct {
	devices   *metadata.MetricsBuilder // resource: the host
	users     *metadata.MetricsBuilder // resources: processes and containers; apart, because it emits few metrics often
	resources *metadata.ResourceBuilder
	config    metadata.MetricsConfig
	starts    startTimes
	identity  identities
	order     []int            // scratch for processes
	done      []*gpu.Container // scratch for containers
}

// New returns a Recorder of the metrics that the configuration enables.
func New(config metadata.MetricsBuilderConfig, settings receiver.Settings) *Recorder {
	devices := metadata.NewMetricsBuilder(config, settings)
	return &Recorder{
		devices:   devices,
		users:     metadata.NewMetricsBuilder(ofUsers(config), settings),
		resources: devices.NewResourceBuilder(),
		config:    config.Metrics,
		identity:  identities{},
	}
}

// ofUsers leaves on what processes and containers have: the builder goes through all metrics that are on for each of them.
func ofUsers(config metadata.MetricsBuilderConfig) metadata.MetricsBuilderConfig {
	all := config.Metrics
	config.Metrics = metadata.MetricsConfig{
		ContainerGpuAllocated:   all.ContainerGpuAllocated,
		ContainerGpuEnergy:      all.ContainerGpuEnergy,
		ContainerGpuIdleTime:    all.ContainerGpuIdleTime,
		ContainerGpuMemoryLimit: all.ContainerGpuMemoryLimit,
		ContainerGpuMemoryUsage: all.ContainerGpuMemoryUsage,
		ContainerGpuPower:       all.ContainerGpuPower,
		ContainerGpuUtilization: all.ContainerGpuUtilization,
		ProcessGpuMemoryUsage:   all.ProcessGpuMemoryUsage,
		ProcessGpuUtilization:   all.ProcessGpuUtilization,
	}
	return config
}

// Record returns the node's metrics. The node may be changed afterwards.
func (r *Recorder) Record(node *gpu.Node) pmetric.Metrics {
	ts := pcommon.NewTimestampFromTime(node.Time)
	r.starts.begin(node.Time)
	r.devices.StartBy(ts)
	r.users.StartBy(ts)
	r.recordPresence(ts, node)
	for i := range node.Devices {
		r.recordDevice(ts, &node.Devices[i])
	}
	r.identity.forgetUnused()
	out := r.devices.Emit(metadata.TakeResource(r.hostResource(&node.Host)))
	r.recordProcesses(ts, node)
	r.recordContainers(ts, node)
	r.users.Emit().ResourceMetrics().MoveAndAppendTo(out.ResourceMetrics())
	r.starts.end(node.Time)
	return out
}

func (r *Recorder) recordDevice(ts pcommon.Timestamp, d *gpu.Device) {
	p := point{ts: ts, device: d, id: r.identity.of(d), mb: r.devices, starts: &r.starts, series: r.starts.device(d.ID)}
	p.info()
	p.health()
	p.allocation()
	p.utilization()
	p.memory(r.config.HwGpuMemoryUtilization.Enabled)
	p.thermal()
	p.power()
	p.clocks()
	p.pcie()
	p.interconnect()
	p.errors()
}

// point is what all points of one device share.
type point struct {
	ts     pcommon.Timestamp
	device *gpu.Device
	id     *identity
	mb     *metadata.MetricsBuilder
	starts *startTimes
	series *deviceSeries
}

// hostResource is the resource of node and device level.
func (r *Recorder) hostResource(host *gpu.Host) pcommon.Resource {
	r.setHost(host)
	res := r.resources.Emit()
	for name, value := range host.Labels {
		res.Attributes().PutStr(name, value)
	}
	return res
}

// setHost puts the host's attributes on the resource being built.
func (r *Recorder) setHost(host *gpu.Host) {
	setText(host.Name, r.resources.SetHostName)
	setText(host.NodeName, r.resources.SetK8sNodeName)
	setText(host.ClusterName, r.resources.SetK8sClusterName)
}

// setText sets a resource attribute where its text is known.
func setText(text string, set func(string)) {
	if text != "" {
		set(text)
	}
}

// iso8601 is how the conventions write a time.
func iso8601(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
