// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelgpu/gpureceiver/exporter/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/sharedcomponent"
)

// NewFactory returns the factory of the gpu_view exporter.
func NewFactory() exporter.Factory {
	f := &factory{open: newFleet}
	return exporter.NewFactory(metadata.Type, createDefaultConfig,
		exporter.WithMetrics(f.createMetrics, metadata.MetricsStability),
		exporter.WithLogs(f.createLogs, metadata.LogsStability))
}

// factory makes exporters. The exporters of one configuration share an instance: together they are one view.
type factory struct {
	open      opener
	instances sharedcomponent.Map[*Config, *instance]
}

func (f *factory) get(cfg *Config, set exporter.Settings) (*instance, component.ShutdownFunc, error) {
	return f.instances.Get(cfg, func(others map[*Config]*instance) (*instance, error) {
		for other := range others {
			if cfg.sameEndpoint(other) {
				return nil, fmt.Errorf("endpoint: another gpu_view listens on %s, too; give each its own endpoint", cfg.Server.NetAddr.Endpoint)
			}
		}
		return newInstance(cfg, set, f.open), nil
	})
}

// There is no queue: data is stored immediately, and nothing is sent on.
func (f *factory) createMetrics(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Metrics, error) {
	i, shutdown, err := f.get(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewMetrics(ctx, set, cfg, i.consumeMetrics,
		exporterhelper.WithStart(i.start), exporterhelper.WithShutdown(shutdown),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}))
}

func (f *factory) createLogs(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Logs, error) {
	i, shutdown, err := f.get(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewLogs(ctx, set, cfg, i.consumeLogs,
		exporterhelper.WithStart(i.start), exporterhelper.WithShutdown(shutdown),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}))
}
