// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"
)

// instance is what the metrics and the logs exporter of one configuration share.
type instance struct {
	cfg *Config
	set component.TelemetrySettings

	mu      sync.Mutex
	started bool
	failed  error // why the start failed
	db      *database
	ready   bool // the tables have the version of this program
	server  *server
	cleaner *cleaner
}

func newInstance(cfg *Config, set exporter.Settings) (*instance, error) {
	return &instance{cfg: cfg, set: set.TelemetrySettings}, nil
}

// start is called by each exporter. The first call opens the database. A database that is away does not stop the collector: what comes
// meanwhile waits in the queue.
func (i *instance) start(ctx context.Context, host component.Host) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.started {
		i.started = true
		i.failed = i.open(ctx, host)
	}
	return i.failed
}

func (i *instance) open(ctx context.Context, host component.Host) error {
	var err error
	if i.db, err = openDatabase(ctx, i.cfg); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, i.cfg.Timeout.Timeout)
	defer cancel()
	if err := i.prepare(ctx); errors.Is(err, errSchema) {
		return err
	} else if err != nil {
		i.set.Logger.Warn("The database of the ledger cannot be used yet", zap.Error(err))
	}
	if i.cfg.Report.HasValue() {
		if i.server, err = serve(ctx, i.cfg.Report.Get(), host, i.set, i.report); err != nil {
			return err
		}
	}
	i.cleaner = startCleaner(i, i.set.Logger)
	return nil
}

// prepare creates the tables or checks their version, and prepares the statements, once. The caller holds the mutex.
func (i *instance) prepare(ctx context.Context) error {
	if i.ready {
		return nil
	}
	if err := migrate(ctx, i.db.DB, i.db.dialect, i.cfg.Migrate); err != nil {
		return err
	}
	if err := i.db.prepare(ctx); err != nil {
		return err
	}
	i.ready = true
	return nil
}

// usable returns the database if its tables can be used.
func (i *instance) usable(ctx context.Context) (*database, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.db == nil {
		return nil, errors.New("the database is not open")
	}
	return i.db, i.prepare(ctx)
}

// Shutdown closes the database.
func (i *instance) Shutdown(context.Context) error {
	i.mu.Lock()
	cleaner, server, db := i.cleaner, i.server, i.db
	i.mu.Unlock()
	if cleaner != nil {
		cleaner.stop()
	}
	if server != nil {
		server.close()
	}
	if db == nil {
		return nil
	}
	return db.close()
}

func (i *instance) consumeLogs(ctx context.Context, logs plog.Logs) error {
	rows := rowsOfLogs(logs)
	if len(rows) == 0 {
		return nil
	}
	db, err := i.usable(ctx)
	if err != nil {
		return err
	}
	err = db.inBatch(ctx, func(b *batch) error { return b.writeAll(rows) })
	if !consumererror.IsPermanent(err) {
		return err
	}
	return db.writeEach(ctx, rows)
}

func (i *instance) consumeMetrics(ctx context.Context, metrics pmetric.Metrics) error {
	reads := readsOf(metrics)
	if len(reads) == 0 {
		return nil
	}
	db, err := i.usable(ctx)
	if err != nil {
		return err
	}
	return db.inBatch(ctx, func(b *batch) error { return b.writeReads(reads, i.cfg.MaxGap) })
}
