// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const day = 24 * time.Hour

// allocationDays says which days of allocations are in allocations_daily. What writes or deletes rows of a day takes away its rolled_time in
// the same transaction, so that a report takes the day from allocations until it is rolled up again.
var allocationDays = &table{"allocation_days", append(columnsOf(key, "day_time"), columnsOf(newest, "rolled_time")...)}

// writeDays says that rows of days have changed. It must be the last that a transaction does: it waits while one of the days is rolled up,
// and the next transaction that writes to the day waits for the end of this one.
func (b *batch) writeDays(days map[time.Time]bool) error {
	for _, d := range slices.SortedFunc(maps.Keys(days), time.Time.Compare) {
		if err := b.write(row{allocationDays, map[string]any{"day_time": timeText(d)}}); err != nil {
			return err
		}
	}
	return nil
}

//go:embed queries/roll_up.sql
var rollUpQuery string

//go:embed queries/delete_days.sql
var deleteDaysQuery string

// rollUp rolls up the days from since to until that have rows and are not rolled up.
func (db *database) rollUp(ctx context.Context, since, until time.Time) error {
	rolled, err := db.rolledDays(ctx, since, until)
	if err != nil {
		return err
	}
	query := fmt.Sprintf("SELECT MIN(hour_time) FROM allocations WHERE hour_time >= %s AND hour_time < %s", db.dialect.place(1), db.dialect.place(2))
	for {
		var first sql.NullString
		if err := db.QueryRowContext(ctx, query, timeText(since), timeText(until)).Scan(&first); err != nil || !first.Valid {
			return err
		}
		d, err := dayOf(first.String)
		if err != nil {
			return err
		}
		if !slices.Contains(rolled, d) {
			if err := db.rollUpDay(ctx, d); err != nil {
				return fmt.Errorf("roll up %s: %w", d.Format(time.DateOnly), err)
			}
		}
		since = d.Add(day)
	}
}

// rollUpDay replaces what allocations_daily contains of a day. Other transactions that write to the day wait for it, or make it old again.
func (db *database) rollUpDay(ctx context.Context, d time.Time) error {
	var options *sql.TxOptions
	if db.dialect != sqlite {
		// Each statement sees what others committed while the first one waited for them, and MySQL locks no rows of allocations.
		options = &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	return db.inTransaction(ctx, options, func(b *batch) error {
		if err := b.write(row{allocationDays, map[string]any{"day_time": timeText(d), "rolled_time": timeText(time.Now())}}); err != nil {
			return err
		}
		deletion := fmt.Sprintf(deleteDaysQuery, "allocations_daily", "=", db.dialect.place(1))
		if _, err := b.tx.ExecContext(ctx, deletion, timeText(d)); err != nil {
			return err
		}
		for _, dimension := range slices.Sorted(maps.Keys(reportColumns)) {
			statement := fmt.Sprintf(rollUpQuery, columnsBy(dimension), timeText(d), dimension, db.dialect.place(1), db.dialect.place(2))
			if _, err := b.tx.ExecContext(ctx, statement, timeText(d), timeText(d.Add(day))); err != nil {
				return err
			}
		}
		return nil
	})
}

// rolledDays returns the whole days from since to until that allocations_daily contains, in their order.
func (db *database) rolledDays(ctx context.Context, since, until time.Time) ([]time.Time, error) {
	query := fmt.Sprintf("SELECT day_time FROM allocation_days WHERE rolled_time IS NOT NULL AND day_time >= %s AND day_time <= %s ORDER BY day_time",
		db.dialect.place(1), db.dialect.place(2))
	rows, err := db.QueryContext(ctx, query, timeText(since), timeText(until.Add(-day)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var days []time.Time
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		d, err := dayOf(text)
		if err != nil {
			return nil, err
		}
		days = append(days, d)
	}
	return days, rows.Err()
}

// dayOf returns the day of a time that was read as text. After the date, drivers differ.
func dayOf(text string) (time.Time, error) {
	return time.Parse(time.DateOnly, text[:min(len(text), len(time.DateOnly))])
}

// span is the time start since to until.
type span struct{ since, until time.Time }

// divide returns days of the span as spans, and the spans around them.
func (s span) divide(days []time.Time) (whole, rest []span) {
	start := s.since
	for _, d := range days {
		if n := len(whole); n > 0 && whole[n-1].until.Equal(d) {
			whole[n-1].until = d.Add(day)
		} else {
			whole = append(whole, span{d, d.Add(day)})
		}
		if start.Before(d) {
			rest = append(rest, span{start, d})
		}
		start = d.Add(day)
	}
	if start.Before(s.until) {
		rest = append(rest, span{start, s.until})
	}
	return whole, rest
}

// within returns the condition that a column is in one of the spans, and the arguments of the query with the ones of the condition.
func (d dialect) within(column string, spans []span, arguments []any) (string, []any) {
	if len(spans) == 0 {
		return "1 = 0", arguments
	}
	var conditions []string
	for _, s := range spans {
		n := len(arguments)
		conditions = append(conditions, fmt.Sprintf("%s >= %s AND %s < %s", column, d.place(n+1), column, d.place(n+2)))
		arguments = append(arguments, timeText(s.since), timeText(s.until))
	}
	return strings.Join(conditions, " OR "), arguments
}
