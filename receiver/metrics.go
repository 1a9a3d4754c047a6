// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/collector/scraper/scraperhelper"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// newMetricsReceiver gives each scraper a controller of its own, because one controller runs its scrapers one after the other.
func newMetricsReceiver(s *sources, shutdown component.ShutdownFunc, set receiver.Settings, next consumer.Metrics) (receiver.Metrics, error) {
	r := &controllers{sources: s, release: shutdown}
	next, err := s.gate.metrics(next)
	if err != nil {
		return nil, err
	}
	s.newRecorder = func() *record.Recorder { return record.New(s.cfg.MetricsBuilderConfig, set) }
	for _, local := range s.local {
		sc, err := scraper.NewMetrics(local.scrapeMetrics)
		if err != nil {
			return nil, err
		}
		controller, err := scraperhelper.NewMetricsController(s.cfg.controller(), set, next,
			scraperhelper.AddMetricsScraper(component.MustNewType(local.key), sc))
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, controller)
	}
	if s.fleet != nil {
		fleet, err := newFleetMetrics(s.fleet, set, next)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, fleet)
	}
	if s.cluster != nil {
		controller, err := newClusterController(s.cfg, set, next, connectCluster, s.cluster)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, controller)
	}
	s.receivers = append(s.receivers, r)
	return r, nil
}

func (s *localScraper) scrapeMetrics(ctx context.Context) (pmetric.Metrics, error) {
	metrics := pmetric.NewMetrics()
	s.read(ctx, func(node *gpu.Node) { metrics = s.pipeline.Metrics(node) })
	return metrics, nil
}
