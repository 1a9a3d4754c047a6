// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

// deliveryRetries is after how long a message that was refused is sent again.
var deliveryRetries = backoff.Policy{First: time.Second, Max: 30 * time.Second}

// delivery sends what waits in the storage, oldest first, until the next consumer has accepted it.
type delivery struct {
	keeper *keeper
	output logsOutput
	cancel context.CancelFunc
	ended  chan struct{}
}

func newDelivery(k *keeper, output logsOutput) *delivery {
	return &delivery{keeper: k, output: output, ended: make(chan struct{})}
}

// Start implements component.Component.
func (d *delivery) Start(ctx context.Context, _ component.Host) error {
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go d.run(ctx)
	return nil
}

// Shutdown implements component.Component. A message that is being sent is interrupted: it stays in the storage.
func (d *delivery) Shutdown(context.Context) error {
	d.cancel()
	<-d.ended
	return nil
}

func (d *delivery) run(ctx context.Context) {
	defer close(d.ended)
	failures := 0
	for ctx.Err() == nil {
		err := d.keeper.deliver(ctx, d.output)
		if err == nil {
			if failures > 0 {
				d.keeper.logger.Info("Logs pipeline accepts events again")
				failures = 0
			}
			select {
			case <-ctx.Done():
			case <-d.keeper.store.Added():
			}
			continue
		}
		if failures == 0 && ctx.Err() == nil {
			d.keeper.logger.Warn("Logs pipeline refused events", zap.Error(err), zap.String("effect", "the events are kept and sent again"))
		}
		failures++
		select {
		case <-ctx.Done():
		case <-time.After(backoff.Jitter(deliveryRetries.Wait(failures))):
		}
	}
}

// deliver sends what waits until nothing does, or until a message is refused. A message that is refused for good is not kept.
func (k *keeper) deliver(ctx context.Context, output logsOutput) error {
	for {
		logs, number, ok := k.store.First()
		if !ok {
			return nil
		}
		records := logs.LogRecordCount()
		if err := output.send(ctx, logs); consumererror.IsPermanent(err) {
			k.drop(ctx, records, err)
		} else if err != nil {
			return err
		}
		k.store.Accepted(ctx, number)
	}
}

// deliverLast sends the waiting events at the shutdown. A refusal is not an error here: the events are sent after the next start.
func (k *keeper) deliverLast(ctx context.Context, output logsOutput) error {
	ctx, cancel := context.WithTimeout(ctx, k.waits.delivery)
	defer cancel()
	if err := k.deliver(ctx, output); err != nil {
		k.logger.Info("Events are kept until the next start", zap.Int("events", k.store.Waiting()),
			zap.String("reason", "the logs pipeline did not accept them before the shutdown"), zap.Error(err))
	}
	return nil
}

// drop counts events that the consumer refused for good.
func (k *keeper) drop(ctx context.Context, records int, err error) {
	k.countDropped(ctx, records)
	k.logger.Warn("Events dropped: the logs pipeline refused them for good", zap.Int("events", records), zap.Error(err))
}
