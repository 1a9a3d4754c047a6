// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/otelgpu/gpureceiver/exporter/internal/metadata"
)

// NewFactory returns the factory of the gpu_view exporter.
func NewFactory() exporter.Factory {
	f := &factory{instances: newRegistry(newFleet)}
	return exporter.NewFactory(metadata.Type, createDefaultConfig,
		exporter.WithMetrics(f.createMetrics, metadata.MetricsStability),
		exporter.WithLogs(f.createLogs, metadata.LogsStability))
}

// factory makes exporters. Those of one configuration share an instance.
type factory struct{ instances *registry }

// There is no queue: what arrives is taken at once, and nothing is sent on.
func (f *factory) createMetrics(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Metrics, error) {
	i, err := f.instances.get(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewMetrics(ctx, set, cfg, i.consumeMetrics,
		exporterhelper.WithStart(i.start), exporterhelper.WithShutdown(i.shutdown),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}))
}

func (f *factory) createLogs(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Logs, error) {
	i, err := f.instances.get(cfg.(*Config), set)
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewLogs(ctx, set, cfg, i.consumeLogs,
		exporterhelper.WithStart(i.start), exporterhelper.WithShutdown(i.shutdown),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}))
}
