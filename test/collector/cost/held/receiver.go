// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package held is a receiver that reads nothing: it holds one message and sends a copy of it in each interval. The cost of a collector with
// it is the cost of sending known points, which is the lower bound for every receiver.
package held

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
)

// Config is the configuration of the receiver.
type Config struct {
	// Interval is the time between two messages.
	Interval time.Duration `mapstructure:"interval"`
	// File contains the message, as OTLP's protobuf.
	File string `mapstructure:"file"`
}

// NewFactory returns the factory of the receiver `held`.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(component.MustNewType("held"), func() component.Config { return &Config{Interval: time.Second} },
		receiver.WithMetrics(create, component.StabilityLevelDevelopment))
}

func create(_ context.Context, _ receiver.Settings, config component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return &heldReceiver{config: config.(*Config), next: next}, nil
}

type heldReceiver struct {
	config *Config
	next   consumer.Metrics
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (h *heldReceiver) Start(context.Context, component.Host) error {
	text, err := os.ReadFile(h.config.File)
	if err != nil {
		return err
	}
	message, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(text)
	if err != nil {
		return fmt.Errorf("%s: %w", h.config.File, err)
	}
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(context.Background())
	h.done.Go(func() { h.send(ctx, message) })
	return nil
}

func (h *heldReceiver) send(ctx context.Context, message pmetric.Metrics) {
	ticker := time.NewTicker(h.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		m := pmetric.NewMetrics()
		message.CopyTo(m)
		_ = h.next.ConsumeMetrics(ctx, m) // the exporter logs what it cannot send
	}
}

func (h *heldReceiver) Shutdown(context.Context) error {
	if h.cancel != nil {
		h.cancel()
		h.done.Wait()
	}
	return nil
}
