// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// consumerGate stands before the next consumer. It drops empty messages, which logs mostly are, and after shut is set
// everything: a read that was left behind at shutdown may end when the consumers behind the gate are shut down already.
type consumerGate struct{ shut atomic.Bool }

// errShut refuses logs, which storage keeps then.
var errShut = errors.New("the receiver is shut down")

func (g *consumerGate) metrics(next consumer.Metrics) (consumer.Metrics, error) {
	return consumer.NewMetrics(func(ctx context.Context, md pmetric.Metrics) error {
		if md.ResourceMetrics().Len() == 0 || g.shut.Load() {
			return nil
		}
		return next.ConsumeMetrics(ctx, md)
	}, consumer.WithCapabilities(next.Capabilities()))
}

func (g *consumerGate) logs(next consumer.Logs) (consumer.Logs, error) {
	return consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
		if ld.ResourceLogs().Len() == 0 {
			return nil
		}
		if g.shut.Load() {
			return errShut
		}
		return next.ConsumeLogs(ctx, ld)
	}, consumer.WithCapabilities(next.Capabilities()))
}
