// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/otelgpu/gpureceiver/exporter/kubernetes/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/sharedcomponent"
)

// NewFactory returns the factory of the gpu_kubernetes exporter.
func NewFactory() exporter.Factory {
	f := &factory{}
	return exporter.NewFactory(metadata.Type, createDefaultConfig,
		exporter.WithMetrics(f.createMetrics, metadata.MetricsStability),
		exporter.WithLogs(f.createLogs, metadata.LogsStability))
}

// factory creates exporters. The exporters of one configuration share an instance.
type factory struct {
	instances sharedcomponent.Map[*Config, *instance]
}

// get returns the instance of a configuration for the pipelines of one signal.
func (f *factory) get(cfg *Config, set exporter.Settings, signal pipeline.Signal) (*instance, component.ShutdownFunc, error) {
	i, shutdown, err := f.instances.Get(cfg, func(map[*Config]*instance) (*instance, error) { return newInstance(cfg, set) })
	if err == nil {
		i.signals[signal] = true
	}
	return i, shutdown, err
}

// No pipeline waits for the API server: what is to be posted waits in the instance, which bounds it.
func (f *factory) createMetrics(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Metrics, error) {
	i, shutdown, err := f.get(cfg.(*Config), set, pipeline.SignalMetrics)
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewMetrics(ctx, set, cfg, i.consumeMetrics,
		exporterhelper.WithStart(i.start), exporterhelper.WithShutdown(shutdown),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}))
}

func (f *factory) createLogs(ctx context.Context, set exporter.Settings, cfg component.Config) (exporter.Logs, error) {
	i, shutdown, err := f.get(cfg.(*Config), set, pipeline.SignalLogs)
	if err != nil {
		return nil, err
	}
	return exporterhelper.NewLogs(ctx, set, cfg, i.consumeLogs,
		exporterhelper.WithStart(i.start), exporterhelper.WithShutdown(shutdown),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}))
}
