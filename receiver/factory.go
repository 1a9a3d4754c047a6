// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package gpureceiver is the component: its configuration, one controller for each scraper, and the sources that the metrics
// and the logs receiver of one configuration share.
package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/scraper/scraperhelper"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/sharedcomponent"
)

const (
	defaultInterval     = 30 * time.Second
	defaultTimeout      = 10 * time.Second
	defaultMaxProcesses = 512

	defaultThrottledAfter = time.Minute
)

// NewFactory returns the factory of the gpu receiver.
func NewFactory() receiver.Factory {
	f := &factory{open: openSource, waits: defaultWaits()}
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

// factory makes receivers. Those of one configuration share their sources, and read each GPU once.
type factory struct {
	open    opener
	waits   waits
	sources sharedcomponent.Map[*Config, *sources]
}

func (f *factory) get(cfg *Config, set receiver.Settings) (*sources, component.ShutdownFunc, error) {
	return f.sources.Get(cfg, func(others map[*Config]*sources) (*sources, error) {
		s, err := newSources(cfg, set, f.open, f.waits)
		if err == nil {
			warn(cfg, set, others)
		}
		return s, err
	})
}

// warn logs what is allowed in a configuration but most likely not meant: by itself, and beside the receivers that there are.
func warn(cfg *Config, set receiver.Settings, others map[*Config]*sources) {
	for _, warning := range cfg.warnings() {
		set.Logger.Warn(warning)
	}
	own := cfg.gpuSets()
	for other, s := range others {
		for _, gpus := range other.gpuSets() {
			if slices.Contains(own, gpus) {
				set.Logger.Warn("Two receivers read the same GPUs", zap.String("what", gpus),
					zap.String("receiver", set.ID.String()), zap.String("other_receiver", s.receiver),
					zap.String("effect", "a backend counts these GPUs twice"), zap.String("remedy", "remove the scraper from one of the receivers"))
			}
		}
	}
}

func (f *factory) createMetrics(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	s, shutdown, err := f.get(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	return newMetricsReceiver(s, shutdown, set, next)
}

func (f *factory) createLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	s, shutdown, err := f.get(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	return newLogsReceiver(s, shutdown, set, next)
}
