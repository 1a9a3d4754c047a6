// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// shared is what the sources of all scrapers have in common.
type shared struct {
	receiver  string // its ID
	cfg       *Config
	logger    *zap.Logger
	waits     waits
	telemetry *metadata.TelemetryBuilder
	metrics   *metricsOutput  // nil: there is no metrics receiver
	logs      *logsOutput     // nil: there is no logs receiver
	keeper    *keeper         // nil: nothing is kept
	closing   context.Context // ends when the first of the receivers is shut down
	cancel    context.CancelFunc
	status    *componentStatus
}

// newShared opens the storage.
func newShared(ctx context.Context, host component.Host, i *instance) (*shared, error) {
	telemetry, err := metadata.NewTelemetryBuilder(i.set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	s := &shared{
		receiver: i.set.ID.String(), cfg: i.cfg, logger: i.set.Logger, waits: i.waits, telemetry: telemetry, metrics: i.metrics, logs: i.logs, status: &i.status,
	}
	if s.keeper, err = newKeeper(ctx, host, i, telemetry); err != nil {
		return nil, err
	}
	s.closing, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// options returns what the pipelines of a scraper that reads GPUs have in common.
func (s *shared) options(key string) pipeline.Options {
	labelSet := labels(s.receiver, attribute.String("scraper", key))
	options := pipeline.Options{
		Source: key,
		Events: s.logs != nil, ProcessEvents: s.cfg.sendsProcessEvents(), AllocationEvents: s.cfg.sendsAllocations(),
		Interval: s.cfg.ControllerConfig.CollectionInterval, MaxProcesses: s.cfg.MaxProcesses, ThrottledAfter: s.cfg.ThrottledAfter,
		Dropped: func(ctx context.Context, processes int) {
			s.telemetry.GpuProcessesDropped.Add(ctx, int64(processes), labelSet)
		},
		Keep:          s.keeper != nil,
		EventRecorder: s.eventRecorder(),
	}
	if s.metrics != nil {
		options.Recorder = record.New(s.cfg.MetricsBuilderConfig, s.metrics.set)
	}
	return options
}

// eventRecorder returns a new one; nil without a logs receiver.
func (s *shared) eventRecorder() *record.EventRecorder {
	if s.logs == nil {
		return nil
	}
	return record.NewEvents(s.cfg.logsBuilderConfig(), s.logs.set)
}

// eventsDropped returns what counts the events that will never be sent, by these attributes.
func (s *shared) eventsDropped(attributes ...attribute.KeyValue) func(events int) {
	labelSet := labels(s.receiver, attributes...)
	count := func(events int) { s.telemetry.GpuEventsDropped.Add(context.Background(), int64(events), labelSet) }
	if s.logs != nil {
		count(0) // an increase from 0 is one, too
	}
	return count
}

// pass stores the events that wait in a pipeline, or sends them at once if there is no storage.
func (s *shared) pass(ctx context.Context, key string, p *pipeline.Pipeline, host *gpu.Host) error {
	if s.keeper == nil {
		return s.logs.send(ctx, p.Logs(host))
	}
	s.keeper.put(ctx, key, p, host)
	return nil
}

// passLast is pass at the end of a pipeline.
func (s *shared) passLast(ctx context.Context, key string, p *pipeline.Pipeline, host *gpu.Host) error {
	if s.keeper == nil {
		return s.logs.send(ctx, p.LastLogs(host))
	}
	s.keeper.putLast(ctx, key, p, host)
	return nil
}
