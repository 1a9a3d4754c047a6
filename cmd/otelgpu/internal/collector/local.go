// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"

	gpuviewexporter "github.com/otelgpu/gpureceiver/exporter"
	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

const (
	localInterval = 2 * time.Second // between two reads, as in config/run.yaml
	localSources  = 2               // that run by default, nvml and amdgpu: each sends a message of its own
	localWait     = 10 * time.Second
)

// Local reads the GPUs of this machine in this process: a gpu receiver, and the gpu_view exporter to which it sends.
type Local struct {
	Server string // URL of the exporter
	parts  []component.Component
}

// NewLocalConfig returns what is read by default.
func NewLocalConfig() *gpureceiver.Config {
	cfg := gpureceiver.NewFactory().CreateDefaultConfig().(*gpureceiver.Config)
	cfg.ControllerConfig.CollectionInterval, cfg.ControllerConfig.InitialDelay = localInterval, 0
	return cfg
}

// StartLocal begins to read, and returns after the first read of each source, or when localWait is over.
func StartLocal(ctx context.Context, cfg *gpureceiver.Config) (*Local, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	l := &Local{Server: "http://" + address}
	read, err := l.build(ctx, cfg, address)
	if err != nil {
		return nil, err
	}
	for i, part := range l.parts {
		if err := part.Start(ctx, noExtensions{}); err != nil {
			l.parts = l.parts[:i]
			l.Stop()
			return nil, fmt.Errorf("read the GPUs of this machine: %w", err)
		}
	}
	select {
	case <-read:
		return l, nil
	case <-time.After(localWait):
		return l, nil
	case <-ctx.Done():
		l.Stop()
		return nil, ctx.Err()
	}
}

// build makes the exporters, and then the receivers that send to them. The channel is closed when the first reads have arrived.
func (l *Local) build(ctx context.Context, cfg *gpureceiver.Config, address string) (<-chan struct{}, error) {
	telemetry := component.TelemetrySettings{
		Logger: zap.NewNop(), MeterProvider: metricnoop.NewMeterProvider(), TracerProvider: tracenoop.NewTracerProvider(), Resource: pcommon.NewResource(),
	}
	views := gpuviewexporter.NewFactory()
	view := views.CreateDefaultConfig().(*gpuviewexporter.Config)
	view.Server.NetAddr.Endpoint = address
	viewSet := exporter.Settings{ID: component.NewID(views.Type()), TelemetrySettings: telemetry}
	metricsView, metricsViewErr := views.CreateMetrics(ctx, viewSet, view)
	logsView, logsViewErr := views.CreateLogs(ctx, viewSet, view)
	if err := errors.Join(metricsViewErr, logsViewErr); err != nil {
		return nil, err
	}
	read := make(chan struct{})
	var messages atomic.Int64
	first, err := consumer.NewMetrics(func(ctx context.Context, metrics pmetric.Metrics) error {
		err := metricsView.ConsumeMetrics(ctx, metrics)
		if messages.Add(1) == localSources {
			close(read)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	receivers := gpureceiver.NewFactory()
	set := receiver.Settings{ID: component.NewID(receivers.Type()), TelemetrySettings: telemetry}
	metrics, metricsErr := receivers.CreateMetrics(ctx, set, cfg, first)
	logs, logsErr := receivers.CreateLogs(ctx, set, cfg, logsView)
	if err := errors.Join(metricsErr, logsErr); err != nil {
		return nil, err
	}
	l.parts = []component.Component{metricsView, logsView, metrics, logs}
	return read, nil
}

// Stop ends the reads and the server.
func (l *Local) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	for _, c := range slices.Backward(l.parts) { // the receivers first
		_ = c.Shutdown(ctx)
	}
}

// freeAddress returns an address of the loopback with a port that is free now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}

// noExtensions is a host for components that need none.
type noExtensions struct{}

// GetExtensions implements component.Host.
func (noExtensions) GetExtensions() map[component.ID]component.Component { return nil }
