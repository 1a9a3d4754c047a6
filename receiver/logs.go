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
	for _, reading := range s.readings {
		reading.feedsLogs = true
		f := scraper.NewFactory(component.MustNewType(reading.scraper), nil, scraper.WithLogs(
			func(context.Context, scraper.Settings, component.Config) (scraper.Logs, error) {
				return newEventScraper(s.cfg, set, reading)
			}, metadata.LogsStability))
		controller, err := scraperhelper.NewLogsController(s.cfg.ControllerConfig.controller(), set, next,
			scraperhelper.AddFactoryWithConfig(f, nil))
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, controller)
	}
	return r, nil
}

func newEventScraper(cfg *Config, set receiver.Settings, reading *reading) (scraper.Logs, error) {
	recorder := record.NewEvents(metadata.LogsBuilderConfig{Events: cfg.Events, ResourceAttributes: cfg.ResourceAttributes}, set)
	return scraper.NewLogs(func(ctx context.Context) (plog.Logs, error) {
		if !reading.feedsMetrics {
			reading.read(ctx, func(*gpu.Node) {})
		}
		return recorder.Record(&reading.host, reading.events.take(), pcommon.NewTimestampFromTime(time.Now())), nil
	})
}
