// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/checkpoint"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
)

const (
	storageKey = "storage"
	// storageName distinguishes the receiver's data in the storage from that of another component with the same ID.
	storageName = "events"
)

// keeper keeps in a storage what the pipelines know, and the events that no consumer has accepted. A nil keeper keeps nothing.
type keeper struct {
	extension component.ID
	receiver  component.ID
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	waits     waits
	store     *checkpoint.Store // nil before the start, and where no logs pipeline wants events
}

// newKeeper returns nil without storage.
func newKeeper(cfg *Config, set receiver.Settings, telemetry *metadata.TelemetryBuilder, waits waits) *keeper {
	if cfg.Storage == nil {
		return nil
	}
	return &keeper{extension: *cfg.Storage, receiver: set.ID, logger: set.Logger, telemetry: telemetry, waits: waits}
}

// open opens the storage and reads the events that wait in it.
func (k *keeper) open(ctx context.Context, host component.Host) error {
	extension, ok := host.GetExtensions()[k.extension]
	if !ok {
		return fmt.Errorf("%s: there is no extension %s; configure it, and list it in service::extensions", storageKey, k.extension)
	}
	stores, ok := extension.(storage.Extension)
	if !ok {
		return fmt.Errorf("%s: %s is not a storage extension; use one such as file_storage", storageKey, k.extension)
	}
	client, err := stores.GetClient(ctx, component.KindReceiver, k.receiver, storageName)
	if err != nil {
		return fmt.Errorf("%s: open %s: %w", storageKey, k.extension, err)
	}
	k.countDropped(ctx, 0) // an increase from 0 is one, too
	k.store = checkpoint.Open(ctx, client, k.logger, k.countDropped)
	return nil
}

func (k *keeper) countDropped(ctx context.Context, records int) {
	k.telemetry.GpuEventsDropped.Add(ctx, int64(records), labels(k.receiver.String()))
}

// observe registers the number of records that wait.
func (k *keeper) observe() error {
	of := labels(k.receiver.String())
	return k.telemetry.RegisterGpuEventsWaitingCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(k.waiting()), of)
		return nil
	})
}

func (k *keeper) isOpen() bool { return k != nil && k.store != nil }

// known returns what an earlier process knew; nil where there is nothing.
func (k *keeper) known(ctx context.Context, key string) *pipeline.Known {
	var known pipeline.Known
	if !k.isOpen() || !k.store.Load(ctx, key, &known) {
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
	if !k.isOpen() {
		return 0
	}
	return k.store.Waiting()
}

// forget removes what is known of a source that is not read any more.
func (k *keeper) forget(ctx context.Context, key string) {
	if k.isOpen() {
		k.store.Forget(ctx, key)
	}
}

func (k *keeper) close() error {
	if !k.isOpen() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.waits.storage)
	defer cancel()
	return k.store.Close(ctx)
}

// eventOutput takes the events of pipelines: they are stored first, or, without storage, sent at once.
type eventOutput struct {
	logs   logsOutput
	keeper *keeper
}

// pass takes what waits in a pipeline.
func (o *eventOutput) pass(ctx context.Context, key string, p *pipeline.Pipeline, host *gpu.Host) error {
	if o.keeper == nil {
		return o.logs.send(ctx, p.Logs(host))
	}
	o.keeper.put(ctx, key, p, host)
	return nil
}

// passCluster takes what waits of a cluster, and what has become known of its pods together with it.
func (o *eventOutput) passCluster(ctx context.Context, s *clusterSource) error {
	if o.keeper == nil {
		return o.logs.send(ctx, s.pipeline.Logs(&s.host))
	}
	var known *pipeline.Known
	var open, logs plog.Logs
	parts := s.pods.Load().checkpoint(func() { known, open, logs = s.pipeline.Checkpoint(&s.host) })
	o.keeper.store.Put(ctx, clusterKey, known, open, logs, parts...)
	return nil
}

// passLast takes what waits in a pipeline before it ends.
func (o *eventOutput) passLast(ctx context.Context, key string, p *pipeline.Pipeline, host *gpu.Host) error {
	if o.keeper == nil {
		return o.logs.send(ctx, p.LastLogs(host))
	}
	o.keeper.putLast(ctx, key, p, host)
	return nil
}
