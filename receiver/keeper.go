// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/checkpoint"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
)

const (
	storageKey = "storage"
	// storageName distinguishes the receiver's data in the storage from the data of another component with the same ID.
	storageName = "events"
)

// keeper keeps in a storage what the pipelines know, and the events that no consumer has accepted. A nil keeper keeps nothing.
type keeper struct {
	receiver  component.ID
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	waits     waits
	store     *checkpoint.Store
}

// newKeeper opens the storage and reads the events that wait in it. It returns nil without storage, and if no logs pipeline wants events.
func newKeeper(ctx context.Context, host component.Host, i *instance, telemetry *metadata.TelemetryBuilder) (*keeper, error) {
	if i.cfg.Storage == nil {
		return nil, nil
	}
	if i.logs == nil {
		i.set.Logger.Warn(storageKey + ": has no effect: it keeps events, and the receiver is in no logs pipeline; add the receiver to one, or leave storage out")
		return nil, nil
	}
	id := *i.cfg.Storage
	extension, ok := host.GetExtensions()[id]
	if !ok {
		return nil, fmt.Errorf("%s: there is no extension %s; configure it, and list it in service::extensions", storageKey, id)
	}
	stores, ok := extension.(storage.Extension)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a storage extension; use one such as file_storage", storageKey, id)
	}
	client, err := stores.GetClient(ctx, component.KindReceiver, i.set.ID, storageName)
	if err != nil {
		return nil, fmt.Errorf("%s: open %s: %w", storageKey, id, err)
	}
	k := &keeper{receiver: i.set.ID, logger: i.set.Logger, telemetry: telemetry, waits: i.waits}
	k.countDropped(ctx, 0) // an increase from 0 is one, too
	k.store = checkpoint.Open(ctx, client, k.logger, k.countDropped)
	return k, nil
}

func (k *keeper) countDropped(ctx context.Context, records int) {
	k.telemetry.GpuEventsDropped.Add(ctx, int64(records), labels(k.receiver.String()))
}

// observe registers the number of records that wait.
func (k *keeper) observe() error {
	if k == nil {
		return nil
	}
	labelSet := labels(k.receiver.String())
	return k.telemetry.RegisterGpuEventsWaitingCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(k.waiting()), labelSet)
		return nil
	})
}

// known returns what an earlier process knew; nil if there is nothing.
func (k *keeper) known(ctx context.Context, key string) *pipeline.Known {
	var known pipeline.Known
	if k == nil || !k.store.Load(ctx, key, &known) {
		return nil
	}
	return &known
}

// put stores what a pipeline knows and the events that wait in it.
func (k *keeper) put(ctx context.Context, key string, p *pipeline.Pipeline, host *gpu.Host) {
	known, open, logs := p.Checkpoint(host)
	k.store.Put(ctx, key, known, open, logs)
}

// putLast is put before the pipeline ends.
func (k *keeper) putLast(ctx context.Context, key string, p *pipeline.Pipeline, host *gpu.Host) {
	known, logs := p.LastCheckpoint(host)
	k.store.Put(ctx, key, known, plog.NewLogs(), logs)
}

// waiting returns the number of records that wait for the next consumer.
func (k *keeper) waiting() int {
	if k == nil {
		return 0
	}
	return k.store.Waiting()
}

// forget removes what is known of a source that is not read any more.
func (k *keeper) forget(ctx context.Context, key string) {
	if k != nil {
		k.store.Forget(ctx, key)
	}
}

func (k *keeper) close() error {
	if k == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.waits.storage)
	defer cancel()
	return k.store.Close(ctx)
}

// deliveryRetries is after how long a message that was refused is sent again.
var deliveryRetries = backoff.Policy{First: time.Second, Max: 30 * time.Second}

// delivery sends what waits in the storage, oldest first, until the next consumer has accepted it.
type delivery struct {
	keeper *keeper
	output *logsOutput
	cancel context.CancelFunc
	ended  chan struct{}
}

func newDelivery(k *keeper, output *logsOutput) *delivery {
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
func (k *keeper) deliver(ctx context.Context, output *logsOutput) error {
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
func (k *keeper) deliverLast(ctx context.Context, output *logsOutput) error {
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
	k.logger.Warn("Events dropped: the logs pipeline refused them permanently", zap.Int("events", records), zap.Error(err))
}
