// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/collector/scraper/scraperhelper"

	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// metricsOutput takes the metrics of a metrics receiver.
type metricsOutput struct {
	set  receiver.Settings
	obs  *receiverhelper.ObsReport
	next consumer.Metrics
}

func newMetricsOutput(set receiver.Settings, next consumer.Metrics) (*metricsOutput, error) {
	obs, err := newObsReport(set)
	return &metricsOutput{set: set, obs: obs, next: next}, err
}

func newObsReport(set receiver.Settings) (*receiverhelper.ObsReport, error) {
	return receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{ReceiverID: set.ID, ReceiverCreateSettings: set})
}

// send passes on metrics that no controller sends, if there are any. That the consumer refused them is counted and logged by the consumer and by
// ObsReport.
func (o *metricsOutput) send(ctx context.Context, metrics pmetric.Metrics) {
	points := metrics.DataPointCount()
	if points == 0 {
		return
	}
	ctx = o.obs.StartMetricsOp(ctx)
	err := o.next.ConsumeMetrics(ctx, metrics)
	o.obs.EndMetricsOp(ctx, metadata.Type.String(), points, err)
}

// controller returns what scrapes at each interval and sends the metrics.
func (o *metricsOutput) controller(cfg *Config, key string, scrape scraper.ScrapeMetricsFunc, options ...scraper.Option) (component.Component, error) {
	sc, err := scraper.NewMetrics(scrape, options...)
	if err != nil {
		return nil, err
	}
	return scraperhelper.NewMetricsController(cfg.controller(), o.set, o.next, scraperhelper.AddMetricsScraper(component.MustNewType(key), sc))
}

// metricsControllers gives each scraper a controller of its own, because one controller runs its scrapers one after the other.
func (s *sources) metricsControllers() (*controllers, error) {
	c := &controllers{}
	for _, l := range s.local {
		controller, err := s.metrics.controller(s.cfg, l.key, l.scrapeMetrics)
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, controller)
	}
	if s.fleet != nil {
		c.all = append(c.all, s.fleet)
	}
	if s.cluster != nil {
		controller, err := s.cluster.controller(s.metrics)
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, controller)
	}
	return c, nil
}
