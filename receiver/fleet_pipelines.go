// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// remoteKey is one vendor's GPUs of one node.
type remoteKey struct {
	cluster, node string
	vendor        gpu.Vendor
}

// remoteNode is what is kept of it. It is used by one goroutine at a time.
type remoteNode struct {
	problems *problemLog
	recorder *record.Recorder      // nil before the metrics pipeline takes the node
	events   *record.EventRecorder // nil before the logs pipeline does
	states   stateWatch
	waiting  eventQueue // events that wait for the logs pipeline

	processed *processWatch // nil where nobody wants to know of processes
}

// fleetPipeline is the part of one signal's receiver in the fleet.
type fleetPipeline struct {
	fleet  *fleet
	attach func()
}

// Start implements component.Component. Before it nothing is handed on to the pipeline, and events wait for it.
func (p *fleetPipeline) Start(context.Context, component.Host) error {
	p.fleet.mu.Lock()
	p.attach()
	p.fleet.mu.Unlock()
	return p.fleet.start()
}

// Shutdown implements component.Component.
func (p *fleetPipeline) Shutdown(context.Context) error { return p.fleet.close() }

// metricsPipeline is where metrics go.
type metricsPipeline struct {
	cfg  metadata.MetricsBuilderConfig
	set  receiver.Settings
	obs  *receiverhelper.ObsReport
	next consumer.Metrics
}

func newFleetMetrics(f *fleet, set receiver.Settings, next consumer.Metrics) (component.Component, error) {
	obs, err := newObsReport(set)
	if err != nil {
		return nil, err
	}
	f.feedsMetrics = true
	return &fleetPipeline{fleet: f, attach: func() {
		f.metrics = &metricsPipeline{cfg: f.cfg.MetricsBuilderConfig, set: set, obs: obs, next: next}
	}}, nil
}

func (p *metricsPipeline) send(ctx context.Context, n *remoteNode, node *gpu.Node) {
	if n.recorder == nil {
		n.recorder = record.New(p.cfg, p.set)
	}
	metrics := n.recorder.Record(node)
	points := metrics.DataPointCount()
	ctx = p.obs.StartMetricsOp(ctx)
	err := p.next.ConsumeMetrics(ctx, metrics)
	p.obs.EndMetricsOp(ctx, metadata.Type.String(), points, err)
}

// logsPipeline is where events go.
type logsPipeline struct {
	cfg  metadata.LogsBuilderConfig
	set  receiver.Settings
	obs  *receiverhelper.ObsReport
	next consumer.Logs
}

func newFleetLogs(f *fleet, set receiver.Settings, next consumer.Logs) (component.Component, error) {
	obs, err := newObsReport(set)
	if err != nil {
		return nil, err
	}
	f.feedsLogs = true
	cfg := metadata.LogsBuilderConfig{Events: f.cfg.Events, ResourceAttributes: f.cfg.ResourceAttributes}
	return &fleetPipeline{fleet: f, attach: func() {
		f.logs = &logsPipeline{cfg: cfg, set: set, obs: obs, next: next}
	}}, nil
}

func (p *logsPipeline) send(ctx context.Context, n *remoteNode, node *gpu.Node) {
	events := n.waiting.take()
	if len(events) == 0 {
		return
	}
	if n.events == nil {
		n.events = record.NewEvents(p.cfg, p.set)
	}
	// That it was not taken is counted and logged by whoever did not.
	_ = sendLogs(ctx, p.obs, p.next, n.events.Record(&node.Host, events, pcommon.NewTimestampFromTime(time.Now())))
}

func newObsReport(set receiver.Settings) (*receiverhelper.ObsReport, error) {
	return receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{ReceiverID: set.ID, ReceiverCreateSettings: set})
}
