// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// metricsOutput sends metrics that no controller sends.
type metricsOutput struct {
	obs  *receiverhelper.ObsReport
	next consumer.Metrics
}

// send passes metrics on if there are any. That the consumer refused them is counted and logged by the consumer and by ObsReport.
func (o *metricsOutput) send(ctx context.Context, metrics pmetric.Metrics) {
	points := metrics.DataPointCount()
	if points == 0 {
		return
	}
	ctx = o.obs.StartMetricsOp(ctx)
	err := o.next.ConsumeMetrics(ctx, metrics)
	o.obs.EndMetricsOp(ctx, metadata.Type.String(), points, err)
}

// logsOutput sends logs that no controller sends.
type logsOutput struct {
	obs  *receiverhelper.ObsReport
	next consumer.Logs
}

// send passes logs on if there are any. An error is the consumer's; it has been counted.
func (o *logsOutput) send(ctx context.Context, logs plog.Logs) error {
	count := logs.LogRecordCount()
	if count == 0 {
		return nil
	}
	ctx = o.obs.StartLogsOp(ctx)
	err := o.next.ConsumeLogs(ctx, logs)
	o.obs.EndLogsOp(ctx, metadata.Type.String(), count, err)
	return err
}
