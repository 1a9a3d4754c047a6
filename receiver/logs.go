// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/collector/scraper/scraperhelper"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// newLogsReceiver sends the events of the reads. Where no metrics receiver reads the sources, it reads them itself.
func newLogsReceiver(s *sources, shutdown component.ShutdownFunc, set receiver.Settings, next consumer.Logs) (receiver.Logs, error) {
	r := &controllers{sources: s, release: shutdown}
	next, err := s.gate.logs(next)
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
	output := eventOutput{logsOutput{obs: obs, next: next}, s.keeper}
	if s.keeper != nil {
		r.all = append(r.all, newDelivery(s.keeper, output.logs))
	}
	for _, local := range s.local {
		sender := newEventSender(func(ctx context.Context) error {
			host := local.currentHost()
			return output.pass(ctx, local.key, local.pipeline, &host)
		})
		local.events = sender
		r.last = append(r.last, func(ctx context.Context) error { return output.passLast(ctx, local.key, local.pipeline, &local.host) })
		controller, err := newLogsController(s.cfg, set, local, output)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, &localLogs{local: local, sender: sender, reads: controller})
	}
	if s.cluster != nil {
		noMetrics, err := consumer.NewMetrics(func(context.Context, pmetric.Metrics) error { return nil })
		if err != nil {
			return nil, err
		}
		sender := newEventSender(func(ctx context.Context) error {
			return output.passCluster(ctx, s.cluster)
		})
		s.cluster.events = sender
		s.cluster.dropped(0) // an increase from 0 is one, too
		r.last = append(r.last, sender.send)
		controller, err := newClusterController(s.cfg, set, noMetrics, connectCluster, s.cluster)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, sender, &clusterReads{source: s.cluster, reads: controller})
	}
	if s.keeper != nil {
		r.last = append(r.last, func(ctx context.Context) error { return s.keeper.deliverLast(ctx, output.logs) })
	}
	s.receivers = append(s.receivers, r)
	return r, nil
}

// localLogs sends the events of one source. Where a metrics receiver reads the source, they are sent with its reads.
type localLogs struct {
	local  *localScraper
	sender *eventSender
	reads  component.Component // reads the source at each interval
	runs   component.Component // one of the two
}

// Start implements component.Component.
func (l *localLogs) Start(ctx context.Context, host component.Host) error {
	l.runs = l.reads
	if l.local.newRecorder != nil { // known only when all receivers were made
		l.runs = l.sender
	}
	return l.runs.Start(ctx, host)
}

// Shutdown implements component.Component.
func (l *localLogs) Shutdown(ctx context.Context) error { return l.runs.Shutdown(ctx) }

// newLogsController reads a source at each interval for its events alone.
func newLogsController(cfg *Config, set receiver.Settings, local *localScraper, output eventOutput) (component.Component, error) {
	scrape := func(ctx context.Context) (plog.Logs, error) { //nolint:unparam // as the scraper wants it
		local.read(ctx, func(*gpu.Node) {})
		if output.keeper == nil {
			return local.eventLogs(), nil
		}
		host := local.currentHost()
		output.keeper.put(ctx, local.key, local.pipeline, &host)
		return plog.NewLogs(), nil
	}
	f := scraper.NewFactory(component.MustNewType(local.key), nil, scraper.WithLogs(
		func(context.Context, scraper.Settings, component.Config) (scraper.Logs, error) {
			return scraper.NewLogs(scrape)
		}, metadata.LogsStability))
	return scraperhelper.NewLogsController(cfg.controller(), set, output.logs.next, scraperhelper.AddFactoryWithConfig(f, nil))
}
