// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"go.uber.org/zap"
)

const (
	cleanEvery = time.Hour
	// maxDeleted bounds the rows that one statement deletes, so that no write waits for long.
	maxDeleted = 1_000
)

// aged are the tables that retention bounds, with their key and the column that says how old a row is. GPUs are few, and stay.
var aged = []struct{ table, key, time string }{
	{"allocations", "hw_id, holder, hour_time", "hour_time"},
	{"pod_resources", "allocation", "updated_time"},
	{"gpu_events", "uid", "event_time"},
	{"gpu_pods_events", "uid", "event_time"},
	{"pod_snapshots", "uid", "event_time"},
	{"workload_pod_references", "k8s_workload_uid, k8s_pod_uid", "updated_time"},
	{"gpu_pods", "k8s_pod_uid", "updated_time"},
	{"gpu_workloads", "k8s_workload_uid", "updated_time"},
}

//go:embed queries/delete.sql
var deleteQuery string

//go:embed queries/delete_mysql.sql
var deleteQueryOfMySQL string

// cleaner deletes old rows from time to time.
type cleaner struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func startCleaner(i *instance, logger *zap.Logger) *cleaner {
	ctx, cancel := context.WithCancel(context.Background())
	c := &cleaner{cancel, make(chan struct{})}
	go func() {
		defer close(c.done)
		for ticker := time.NewTicker(cleanEvery); ; {
			select {
			case <-ctx.Done():
				ticker.Stop()
				return
			case now := <-ticker.C:
				if err := i.clean(ctx, now.Add(-i.cfg.Retention)); err != nil && ctx.Err() == nil {
					logger.Warn("Old rows of the ledger could not be deleted", zap.Error(err))
				}
			}
		}
	}()
	return c
}

func (c *cleaner) stop() {
	c.cancel()
	<-c.done
}

func (i *instance) clean(ctx context.Context, before time.Time) error {
	db, err := i.usable(ctx)
	if err != nil {
		return err
	}
	return db.deleteBefore(ctx, before, maxDeleted)
}

// deleteBefore deletes the rows of all tables that are older, at most so many with one statement.
func (db *database) deleteBefore(ctx context.Context, before time.Time, rows int64) error {
	query := deleteQuery
	if db.dialect == mySQL { // it does not allow LIMIT in a subquery
		query = deleteQueryOfMySQL
	}
	for _, t := range aged {
		statement := fmt.Sprintf(query, t.table, t.key, t.time, db.dialect.place(1), rows)
		for {
			result, err := db.ExecContext(ctx, statement, timeText(before))
			if err != nil {
				return fmt.Errorf("delete from %s: %w", t.table, err)
			}
			n, err := result.RowsAffected()
			if err != nil {
				return fmt.Errorf("delete from %s: %w", t.table, err)
			}
			if n < rows {
				break
			}
		}
	}
	return nil
}
