// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/collector/scraper/scraperhelper"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// newLogsReceiver sends the events that the reads have brought. Where no metrics pipeline reads, it reads itself.
func newLogsReceiver(s *shared, set receiver.Settings, next consumer.Logs) (receiver.Logs, error) {
	r := &controllers{shared: s, logger: set.Logger}
	next, err := r.gate.logs(next)
	if err != nil {
		return nil, err
	}
	s.feedsLogs = true
	if s.fleet != nil {
		fleet, err := newFleetLogs(s.fleet, set, next)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, fleet)
	}
	obs, err := newObsReport(set)
	if err != nil {
		return nil, err
	}
	for _, reading := range s.readings {
		reading.feedsLogs = true
		events := &eventScraper{reading: reading, recorder: record.NewEvents(
			metadata.LogsBuilderConfig{Events: s.cfg.Events, ResourceAttributes: s.cfg.ResourceAttributes}, set)}
		r.last = append(r.last, func(ctx context.Context) error { return sendLogs(ctx, obs, next, events.take()) })
		f := scraper.NewFactory(component.MustNewType(reading.scraper), nil, scraper.WithLogs(
			func(context.Context, scraper.Settings, component.Config) (scraper.Logs, error) {
				return scraper.NewLogs(events.scrape)
			}, metadata.LogsStability))
		controller, err := scraperhelper.NewLogsController(s.cfg.ControllerConfig.controller(), set, next,
			scraperhelper.AddFactoryWithConfig(f, nil))
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, controller)
	}
	if len(r.all) == 0 {
		set.Logger.Warn("No logs come of this receiver: " + scrapersKey + "::" + clusterKey +
			" has metrics alone; take it out of the logs pipelines, and put it into one of metrics")
	}
	return r, nil
}

// eventScraper takes the events of a reading.
type eventScraper struct {
	reading  *reading
	recorder *record.EventRecorder
}

func (s *eventScraper) scrape(ctx context.Context) (plog.Logs, error) {
	if !s.reading.feedsMetrics {
		s.reading.read(ctx, func(*gpu.Node) {})
	}
	return s.take(), nil
}

func (s *eventScraper) take() plog.Logs {
	return s.recorder.Record(&s.reading.host, s.reading.events.take(), pcommon.NewTimestampFromTime(time.Now()))
}

// sendLogs hands on what did not come through a controller.
func sendLogs(ctx context.Context, obs *receiverhelper.ObsReport, next consumer.Logs, logs plog.Logs) error {
	count := logs.LogRecordCount()
	if count == 0 {
		return nil
	}
	ctx = obs.StartLogsOp(ctx)
	err := next.ConsumeLogs(ctx, logs)
	obs.EndLogsOp(ctx, metadata.Type.String(), count, err)
	return err
}
