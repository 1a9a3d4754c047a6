// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// Signals are the pipelines in which a receiver is used. They decide what its sources read.
type Signals struct{ Metrics, Logs bool }

// Examination has the sources of a configuration that receivers of these signals would share, to find out what they can read here. It
// sends nothing. Like a receiver it is for a configuration that was validated.
type Examination struct {
	sources *sources
	signals Signals
	started error
}

// NewExamination opens the sources. Close must be called. With everything, the sources of this machine read also what no enabled metric
// needs.
func NewExamination(ctx context.Context, cfg *Config, id component.ID, signals Signals, everything bool) (*Examination, error) {
	set := receiver.Settings{ID: id, TelemetrySettings: component.TelemetrySettings{
		Logger: zap.NewNop(), MeterProvider: metricnoop.NewMeterProvider(), TracerProvider: tracenoop.NewTracerProvider(),
	}}
	own := *cfg
	own.Storage, cfg = nil, &own // what is kept belongs to the collector
	open := openSource
	if everything {
		open = func(key string, cfg *Config, _ gpu.Group) (gpu.Source, error) {
			return openSource(key, cfg, gpu.GroupAll)
		}
	}
	s, err := newSources(cfg, set, open, defaultWaits())
	if err != nil {
		return nil, err
	}
	// Nothing is recorded: that there are recorders decides what is read.
	if signals.Metrics {
		s.newRecorder = func() *record.Recorder { return record.New(cfg.MetricsBuilderConfig, set) }
	}
	if signals.Logs {
		s.newEventRecorder = func() *record.EventRecorder { return record.NewEvents(cfg.logsBuilderConfig(), set) }
	}
	return &Examination{sources: s, signals: signals, started: s.begin(ctx, nil)}, nil
}

// Started returns why a receiver would not start; nil if it would.
func (e *Examination) Started() error { return e.started }

// LocalRead is one read of a scraper of this machine.
type LocalRead struct {
	Scraper  string // its key
	Vendor   gpu.Vendor
	Optional bool      // no configuration names the scraper: a machine without the vendor's GPUs is as it should be
	Node     *gpu.Node // complete, with the problems of attribution; with only a failure where the source returned an error
}

// ReadLocal reads each source of this machine once, within the configured timeout, and passes the reads to use, which must not keep their
// nodes.
func (e *Examination) ReadLocal(ctx context.Context, use func(LocalRead)) {
	for _, l := range e.sources.local {
		if l.pipeline == nil {
			continue // it was not opened: Started says why
		}
		ctx, cancel := context.WithTimeout(ctx, e.sources.cfg.ControllerConfig.Timeout)
		l.read(ctx, func(node *gpu.Node) {
			use(LocalRead{
				Scraper: l.key, Vendor: scraperKinds[l.key].vendor, Optional: len(e.sources.cfg.Scrapers) == 0, Node: node,
			})
		})
		cancel()
	}
}

// Close releases the sources.
func (e *Examination) Close() error {
	return errors.Join(e.sources.stop(context.Background()), e.sources.close())
}
