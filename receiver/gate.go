// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// gate is before the next consumer. It holds back what is empty, as events are at most intervals, and what a read brings
// that was left behind at shutdown: the consumers behind it are shut down by then.
type gate struct{ shut atomic.Bool }

func (g *gate) metrics(next consumer.Metrics) (consumer.Metrics, error) {
	return consumer.NewMetrics(func(ctx context.Context, md pmetric.Metrics) error {
		if md.ResourceMetrics().Len() == 0 || g.shut.Load() {
			return nil
		}
		return next.ConsumeMetrics(ctx, md)
	}, consumer.WithCapabilities(next.Capabilities()))
}

func (g *gate) logs(next consumer.Logs) (consumer.Logs, error) {
	return consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
		if ld.ResourceLogs().Len() == 0 || g.shut.Load() {
			return nil
		}
		return next.ConsumeLogs(ctx, ld)
	}, consumer.WithCapabilities(next.Capabilities()))
}
