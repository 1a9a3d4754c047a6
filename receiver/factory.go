// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package gpureceiver is the component: its configuration, one controller for each scraper, and the sources that the metrics
// and the logs receiver of one configuration share.
package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/scraper/scraperhelper"

	"github.com/otelgpu/gpureceiver/internal/metadata"
)

const (
	defaultInterval     = 30 * time.Second
	defaultTimeout      = 10 * time.Second
	defaultMaxProcesses = 512

	defaultThrottledAfter = time.Minute
)

// NewFactory returns the factory of the gpu receiver.
func NewFactory() receiver.Factory {
	f := &factory{receivers: newRegistry(openSource)}
	return receiver.NewFactory(metadata.Type, createDefaultConfig,
		receiver.WithMetrics(f.createMetrics, metadata.MetricsStability),
		receiver.WithLogs(f.createLogs, metadata.LogsStability))
}

func createDefaultConfig() component.Config {
	controller := scraperhelper.NewDefaultControllerConfig()
	controller.CollectionInterval = defaultInterval
	controller.Timeout = defaultTimeout
	return &Config{
		ControllerConfig:     timing(controller),
		MetricsBuilderConfig: metadata.NewDefaultMetricsBuilderConfig(),
		Events:               metadata.DefaultEventsConfig(),
		MaxProcesses:         defaultMaxProcesses,
		ThrottledAfter:       defaultThrottledAfter,
	}
}

// factory makes receivers. Those of one configuration share their sources.
type factory struct{ receivers *registry }

func (f *factory) createMetrics(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	s, err := f.receivers.get(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	return newMetricsReceiver(s, set, next)
}

func (f *factory) createLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	s, err := f.receivers.get(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	return newLogsReceiver(s, set, next)
}
