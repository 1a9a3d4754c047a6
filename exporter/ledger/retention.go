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
	cleanFirst = time.Minute // after the start
	cleanEvery = time.Hour
	// maxDeleted bounds the rows that one statement deletes, so that no write waits for long.
	maxDeleted = 1_000
)

// aged are the tables that retention bounds, with their key and the column that says how old a row is. GPUs are few, and stay.
var aged = []struct{ table, key, time string }{
	{"allocations", "hw_id, holder, hour_time", "hour_time"},
	{"allocations_daily", "report, day_time, line", "day_time"},
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

// cleaner rolls up days and deletes old rows from time to time.
type cleaner struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func startCleaner(i *instance, logger *zap.Logger) *cleaner {
	ctx, cancel := context.WithCancel(context.Background())
	c := &cleaner{cancel, make(chan struct{})}
	go func() {
		defer close(c.done)
		for timer := time.NewTimer(cleanFirst); ; timer.Reset(cleanEvery) {
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case now := <-timer.C:
				if err := i.clean(ctx, now); err != nil && ctx.Err() == nil {
					logger.Warn("The ledger could not roll up days or delete old rows; it tries again in an hour", zap.Error(err))
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

// clean deletes the rows that are older than the retention, and rolls up the days that have ended.
func (i *instance) clean(ctx context.Context, now time.Time) error {
	db, err := i.usable(ctx)
	if err != nil {
		return err
	}
	since := time.Unix(0, 0)
	if i.cfg.Retention > 0 {
		before := now.Add(-i.cfg.Retention)
		if err := db.deleteBefore(ctx, before, maxDeleted); err != nil {
			return err
		}
		since = before.UTC().Truncate(day).Add(day) // a part of the day before was deleted
	}
	return db.rollUp(ctx, since, now.UTC().Truncate(day))
}

// deleteBefore deletes the rows of all tables that are older, at most so many with one statement.
func (db *database) deleteBefore(ctx context.Context, before time.Time, rows int64) error {
	query := deleteQuery
	if db.dialect == mySQL { // it does not allow LIMIT in a subquery
		query = deleteQueryOfMySQL
	}
	for _, t := range aged {
		statement := fmt.Sprintf(query, t.table, t.key, t.time, db.dialect.place(1), rows)
		for n := rows; n == rows; {
			err := db.inBatch(ctx, func(b *batch) error {
				result, err := b.tx.ExecContext(ctx, statement, timeText(before))
				if err != nil {
					return err
				}
				if n, err = result.RowsAffected(); err != nil {
					return err
				}
				// The last, as in writeDays. A report takes a day that is not whole from what is left of allocations.
				deletion := fmt.Sprintf(deleteDaysQuery, "allocation_days", "<", db.dialect.place(1))
				_, err = b.tx.ExecContext(ctx, deletion, timeText(before))
				return err
			})
			if err != nil {
				return fmt.Errorf("delete from %s: %w", t.table, err)
			}
		}
	}
	return nil
}
