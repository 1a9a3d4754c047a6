// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// store keeps what the pipelines bring. It is the fleet, except in tests.
type store interface {
	view.Reader
	ConsumeMetrics(pmetric.Metrics)
	ConsumeLogs(plog.Logs)
	Start()
	Shutdown()
}

// opener makes the store of an instance.
type opener func(cfg *Config, logger *zap.Logger) store

// instance is what the metrics and the logs exporter of one configuration share.
type instance struct {
	cfg       *Config
	telemetry component.TelemetrySettings
	store     store

	mu      sync.Mutex
	started bool
	failed  error // why the start failed
	server  *server
}

func newInstance(cfg *Config, set exporter.Settings, open opener) *instance {
	return &instance{cfg: cfg, telemetry: set.TelemetrySettings, store: open(cfg, set.Logger)}
}

// start is called by each exporter. The first call starts the fleet and the server.
func (i *instance) start(ctx context.Context, host component.Host) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.started {
		i.started = true
		i.store.Start()
		i.server, i.failed = i.serve(ctx, host)
	}
	return i.failed
}

func (i *instance) serve(ctx context.Context, host component.Host) (*server, error) {
	s, err := listen(ctx, i.cfg, host, i.telemetry, newHandler(i.store, i.cfg, i.telemetry.Logger))
	if err != nil {
		return nil, err
	}
	i.telemetry.Logger.Info("Serving the GPU view", zap.String("url", s.url()))
	for _, warning := range i.cfg.warnings(s.loopback) {
		i.telemetry.Logger.Warn(warning)
	}
	s.serve(func(err error) {
		componentstatus.ReportStatus(host, componentstatus.NewPermanentErrorEvent(fmt.Errorf("serve %s: %w", s.url(), err)))
	})
	return s, nil
}

// Shutdown ends the server and the fleet.
func (i *instance) Shutdown(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.server != nil {
		i.server.close()
	}
	if i.started {
		i.store.Shutdown()
	}
	return nil
}

func (i *instance) consumeMetrics(_ context.Context, metrics pmetric.Metrics) error {
	i.store.ConsumeMetrics(metrics)
	return nil
}

func (i *instance) consumeLogs(_ context.Context, logs plog.Logs) error {
	i.store.ConsumeLogs(logs)
	return nil
}
