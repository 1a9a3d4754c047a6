// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelgpu/gpureceiver/exporter/ledger/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/sharedcomponent"
)

// NewFactory returns the factory of the gpu_ledger exporter.
func NewFactory() exporter.Factory {
	f := &factory{}
	return exporter.NewFactory(metadata.Type, createDefaultConfig,
		exporter.WithMetrics(f.createMetrics, metadata.MetricsStability),
		exporter.WithLogs(f.createLogs, metadata.LogsStability))
}

// factory creates exporters. The exporters of one configuration share an instance: they write to one database.
type factory struct {
	instances sharedcomponent.Map[*Config, *instance]
}

func (f *factory) get(cfg *Config, set exporter.Settings) (*instance, component.ShutdownFunc, error) {
	return f.instances.Get(cfg, func(map[*Config]*instance) (*instance, error) { return newInstance(cfg, set) })
}

func (f *factory) createMetrics(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Metrics, error) {
	c := cfg.(*Config)
	i, shutdown, err := f.get(c, set)
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewMetrics(ctx, set, cfg, i.consumeMetrics,
		exporterhelper.WithStart(i.start), exporterhelper.WithShutdown(shutdown),
		exporterhelper.WithTimeout(c.Timeout), exporterhelper.WithQueue(c.Queue), exporterhelper.WithRetry(c.Retry))
}

func (f *factory) createLogs(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Logs, error) {
	c := cfg.(*Config)
	i, shutdown, err := f.get(c, set)
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewLogs(ctx, set, cfg, i.consumeLogs,
		exporterhelper.WithStart(i.start), exporterhelper.WithShutdown(shutdown),
		exporterhelper.WithTimeout(c.Timeout), exporterhelper.WithQueue(c.Queue), exporterhelper.WithRetry(c.Retry))
}
