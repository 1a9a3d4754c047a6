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
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.opentelemetry.io/collector/scraper"
	"go.opentelemetry.io/collector/scraper/scraperhelper"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// logsOutput takes the log records of a logs receiver.
type logsOutput struct {
	set  receiver.Settings
	obs  *receiverhelper.ObsReport
	next consumer.Logs
}

func newLogsOutput(set receiver.Settings, next consumer.Logs) (*logsOutput, error) {
	obs, err := newObsReport(set)
	return &logsOutput{set: set, obs: obs, next: next}, err
}

// send passes on logs that no controller sends, if there are any. An error is the consumer's; it has been counted.
func (o *logsOutput) send(ctx context.Context, logs plog.Logs) error {
	count := logs.LogRecordCount()
	if count == 0 {
		return nil
	}
	ctx = o.obs.StartLogsOp(ctx)
	err := o.next.ConsumeLogs(ctx, logs)
	o.obs.EndLogsOp(ctx, metadata.Type.String(), count, err)
	return err
}

// logsControllers send the events of the reads. Without a metrics receiver, which reads the sources, they read them.
func (s *sources) logsControllers() (*controllers, error) {
	c := &controllers{}
	if s.fleet != nil {
		c.all = append(c.all, s.fleet)
	}
	if s.keeper != nil {
		c.all = append(c.all, newDelivery(s.keeper, s.logs))
	}
	for _, l := range s.local {
		c.last = append(c.last, func(ctx context.Context) error { return l.passLast(ctx, l.key, l.pipeline, &l.host) })
		if s.metrics != nil {
			c.all = append(c.all, newEventSender(l.pipeline.Found(), func(ctx context.Context) error {
				host := l.currentHost()
				return l.pass(ctx, l.key, l.pipeline, &host)
			}))
			continue
		}
		controller, err := newLogsController(l)
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, controller)
	}
	if s.cluster != nil {
		c.last = append(c.last, s.cluster.passEvents)
		c.all = append(c.all, newEventSender(s.cluster.pipeline.Found(), s.cluster.passEvents))
	}
	if s.cluster != nil && s.metrics == nil {
		noMetrics, err := consumer.NewMetrics(func(context.Context, pmetric.Metrics) error { return nil })
		if err != nil {
			return nil, err
		}
		controller, err := s.cluster.controller(&metricsOutput{set: s.logs.set, next: noMetrics})
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, controller)
	}
	if s.keeper != nil {
		c.last = append(c.last, func(ctx context.Context) error { return s.keeper.deliverLast(ctx, s.logs) })
	}
	return c, nil
}

// newLogsController reads a source at each interval for its events alone.
func newLogsController(l *localScraper) (component.Component, error) {
	scrape := func(ctx context.Context) (plog.Logs, error) { //nolint:unparam // as the scraper wants it
		l.read(ctx, func(*gpu.Node) {})
		host := l.currentHost()
		if l.keeper == nil {
			return l.pipeline.Logs(&host), nil
		}
		l.keeper.put(ctx, l.key, l.pipeline, &host)
		return plog.NewLogs(), nil
	}
	f := scraper.NewFactory(component.MustNewType(l.key), nil, scraper.WithLogs(
		func(context.Context, scraper.Settings, component.Config) (scraper.Logs, error) {
			return scraper.NewLogs(scrape)
		}, metadata.LogsStability))
	return scraperhelper.NewLogsController(l.cfg.controller(), l.logs.set, l.logs.next, scraperhelper.AddFactoryWithConfig(f, nil))
}
