// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package gpureceiver is the component: its configuration, one controller for each scraper, and the sources that the metrics
// and the logs receiver of one configuration share. Begin with instance.go and sources.go: what the first start builds, and how it ends.
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
	f := &factory{open: openSource, connect: connect, waits: defaultWaits()}
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

// factory creates receivers. The receivers of one configuration share their sources, and read each GPU once.
type factory struct {
	open      opener
	connect   connector
	waits     waits
	instances sharedcomponent.Map[*Config, *instance]
}

// get returns the instance of a configuration, and the receiver of a signal, which is one of those that share it.
func (f *factory) get(cfg component.Config, set receiver.Settings, kind signal) (*instance, *signalReceiver, error) {
	own := cfg.(*Config)
	i, release, err := f.instances.Get(own, func(others map[*Config]*instance) (*instance, error) {
		warn(own, set, others)
		return &instance{cfg: own, set: set, open: f.open, connect: f.connect, waits: f.waits, gate: newConsumerGate()}, nil
	})
	return i, &signalReceiver{instance: i, signal: kind, release: release}, err
}

// warn logs what is allowed in a configuration but most likely not meant: by itself, and beside the receivers that there are.
func warn(cfg *Config, set receiver.Settings, others map[*Config]*instance) {
	for _, warning := range cfg.warnings() {
		set.Logger.Warn(warning)
	}
	own := cfg.gpuSets()
	for other, i := range others {
		for _, gpus := range other.gpuSets() {
			if slices.Contains(own, gpus) {
				set.Logger.Warn("Two receivers read the same GPUs", zap.String("what", gpus),
					zap.String("receiver", set.ID.String()), zap.String("other_receiver", i.set.ID.String()),
					zap.String("effect", "a backend counts these GPUs twice"), zap.String("remedy", "remove the scraper from one of the receivers"))
			}
		}
	}
}

func (f *factory) createMetrics(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	i, r, err := f.get(cfg, set, metricsSignal)
	if err != nil {
		return nil, err
	}
	if next, err = i.gate.metrics(next); err != nil {
		return nil, err
	}
	i.metrics, err = newMetricsOutput(set, next)
	return r, err
}

func (f *factory) createLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	i, r, err := f.get(cfg, set, logsSignal)
	if err != nil {
		return nil, err
	}
	if next, err = i.gate.logs(next); err != nil {
		return nil, err
	}
	i.logs, err = newLogsOutput(set, next)
	return r, err
}
