// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/collector/scraper/scraperhelper"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// newLogsReceiver sends the events of the reads. Where no metrics receiver reads the sources, it reads them itself.
func newLogsReceiver(s *sources, set receiver.Settings, next consumer.Logs) (receiver.Logs, error) {
	r := &controllers{sources: s, logger: set.Logger}
	next, err := r.gate.logs(next)
	if err != nil {
		return nil, err
	}
	s.newEventRecorder = func() *record.EventRecorder { return record.NewEvents(s.cfg.logsBuilderConfig(), set) }
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
	output := logsOutput{obs: obs, next: next}
	for _, local := range s.local {
		r.last = append(r.last, func(ctx context.Context) error { return output.send(ctx, local.pipeline.Logs(&local.host)) })
		controller, err := newLogsController(s.cfg, set, local.key, next, local.scrapeLogs)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, controller)
	}
	if s.cluster != nil {
		r.last = append(r.last, func(ctx context.Context) error { return output.send(ctx, s.cluster.events.Logs(&s.cluster.host)) })
		controller, err := newLogsController(s.cfg, set, clusterKey, next, s.cluster.scrapeLogs)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, controller)
		if len(r.all) == 1 {
			set.Logger.Info("Receiver has few logs: " + scrapersKey + "::" + clusterKey + " has an event when the cluster becomes unreadable, or " +
				"readable again, where the receiver is in a metrics pipeline too")
		}
	}
	return r, nil
}

func newLogsController(cfg *Config, set receiver.Settings, key string, next consumer.Logs, scrape scraper.ScrapeLogsFunc) (component.Component, error) {
	f := scraper.NewFactory(component.MustNewType(key), nil, scraper.WithLogs(
		func(context.Context, scraper.Settings, component.Config) (scraper.Logs, error) {
			return scraper.NewLogs(scrape)
		}, metadata.LogsStability))
	return scraperhelper.NewLogsController(cfg.controller(), set, next, scraperhelper.AddFactoryWithConfig(f, nil))
}

func (s *localScraper) scrapeLogs(ctx context.Context) (plog.Logs, error) {
	if !s.feedsMetrics {
		s.read(ctx, func(*gpu.Node) {})
	}
	return s.pipeline.Logs(&s.host), nil
}
