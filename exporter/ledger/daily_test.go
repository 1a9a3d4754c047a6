// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomAllocation returns a row of one of some days. Its numbers are whole, so that sums do not depend on their order.
func randomAllocation(random *rand.Rand, days int64) row {
	hour := time.Unix(3600*random.Int64N(24*days), 0).UTC()
	values := map[string]any{
		"hw_id": fmt.Sprint("GPU-", random.IntN(5)), "holder": fmt.Sprint("pod-", random.IntN(5)),
		"hour_time": timeText(hour), "start_time": timeText(hour), "end_time": timeText(hour),
	}
	for _, column := range []string{"held_time", "busy_time", "idle_time", "unknown_use_time", "unallocated_time", "unknown_time"} {
		values[column] = float64(random.IntN(1000))
	}
	if random.IntN(2) == 0 {
		values["energy"] = float64(random.IntN(1000))
	}
	for _, column := range []string{"hw_model", "k8s_node_name", "host_name", "k8s_namespace_name", "k8s_workload_kind", "k8s_workload_name", "slurm_job_user", "slurm_job_account"} {
		if random.IntN(4) > 0 {
			values[column] = []string{"a", "A", "ä"}[random.IntN(3)]
		}
	}
	if random.IntN(4) > 0 {
		values["labels"] = fmt.Sprintf(`{"k8s.pod.label.team":"%d"}`, random.IntN(3))
	}
	return row{allocations, values}
}

// writeAllocations writes rows as writeReads does.
func writeAllocations(t *testing.T, db *database, rows ...row) {
	t.Helper()
	require.NoError(t, db.inBatch(t.Context(), func(b *batch) error {
		days := map[time.Time]bool{}
		for _, r := range rows {
			if err := b.write(r); err != nil {
				return err
			}
			d, err := dayOf(r.values["hour_time"].(string))
			require.NoError(t, err)
			days[d] = true
		}
		return b.writeDays(days)
	}))
}

// However rows come late and are deleted, and whichever collector rolls up days, each report is the same as from allocations alone.
func TestDailySumsChangeNoReport(t *testing.T) {
	const days = 8
	onEach(t, func(t *testing.T, newURL func() string) {
		url := newURL()
		collectors := []*database{newLedger(t, url).db, newLedger(t, url).db}
		random := rand.New(rand.NewPCG(1, 2))
		fromDays := 0
		for range 150 {
			db := collectors[random.IntN(2)]
			switch random.IntN(10) {
			case 0:
				require.NoError(t, db.deleteBefore(t.Context(), time.Unix(random.Int64N(2*24*3600), 0), 3))
			case 1, 2, 3:
				require.NoError(t, db.rollUp(t.Context(), time.Unix(0, 0), time.Unix(random.Int64N(days)*24*3600, 0)))
			default:
				var rows []row
				for range random.IntN(6) {
					rows = append(rows, randomAllocation(random, days))
				}
				writeAllocations(t, db, rows...)
			}
			for dimension := range reportColumns {
				q := &question{Since: time.Unix(random.Int64N(3*24*3600), 0), Until: time.Unix(3*24*3600+random.Int64N(6*24*3600), 0), By: dimension}
				if dimension == "label" {
					q.Label = "team"
				}
				got, err := db.report(t.Context(), q)
				require.NoError(t, err)
				want, err := db.reportOf(t.Context(), q, nil)
				require.NoError(t, err)
				require.Equal(t, want, got, "%+v", q)
				rolled, err := db.rolledDays(t.Context(), q.Since, q.Until)
				require.NoError(t, err)
				fromDays += len(rolled)
			}
		}
		assert.Greater(t, fromDays, 1000)

		// A report does take them from there.
		db := collectors[0]
		require.NoError(t, db.rollUp(t.Context(), time.Unix(0, 0), time.Unix(days*24*3600, 0)))
		_, err := db.ExecContext(t.Context(), "UPDATE allocations_daily SET held_time = held_time + 1")
		require.NoError(t, err)
		q := &question{Since: time.Unix(0, 0), Until: time.Unix(days*24*3600, 0), By: "namespace"}
		got, err := db.report(t.Context(), q)
		require.NoError(t, err)
		want, err := db.reportOf(t.Context(), q, nil)
		require.NoError(t, err)
		assert.NotEqual(t, want, got)
	})
}

// A day is not rolled up if rows of it were written before and committed after it.
func TestRowsThatAreCommittedLater(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		url := newURL()
		writer, other := newLedger(t, url).db, newLedger(t, url).db
		if writer.dialect == sqlite {
			return // a transaction is the only one that writes
		}
		random := rand.New(rand.NewPCG(3, 4))
		writeAllocations(t, writer, randomAllocation(random, 1))
		require.NoError(t, writer.inBatch(t.Context(), func(b *batch) error {
			late := randomAllocation(random, 1)
			late.values["holder"] = "late"
			require.NoError(t, b.write(late))
			require.NoError(t, other.rollUp(t.Context(), time.Unix(0, 0), time.Unix(24*3600, 0)))
			rolled, err := other.rolledDays(t.Context(), time.Unix(0, 0), time.Unix(24*3600, 0))
			require.NoError(t, err)
			require.Len(t, rolled, 1)
			return b.writeDays(map[time.Time]bool{time.Unix(0, 0).UTC(): true})
		}))
		rolled, err := other.rolledDays(t.Context(), time.Unix(0, 0), time.Unix(24*3600, 0))
		require.NoError(t, err)
		assert.Empty(t, rolled)
	})
}

// Collectors send reads of GPUs that were away for days, while others roll up the days. No report differs at the end.
func TestDaysAreRolledUpWhileRowsAreWritten(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		url := newURL()
		first, last := time.Unix(0, 0), time.Unix(30*24*3600, 0)
		var writers, rollers sync.WaitGroup
		ended := make(chan struct{})
		for n := range uint64(3) {
			l := newLedger(t, url)
			writers.Go(func() {
				random := rand.New(rand.NewPCG(n, 5))
				gpu := newLife(fmt.Sprint("GPU-", n))
				for now := int64(3600); now < last.Unix(); {
					for err := l.consumeMetrics(t.Context(), gpu.metrics(now)); err != nil && t.Context().Err() == nil; { // as the queue does
						err = l.consumeMetrics(t.Context(), gpu.metrics(now))
					}
					seconds := 30 + random.Int64N(270)
					if random.IntN(3) == 0 {
						seconds += random.Int64N(2 * 24 * 3600)
					}
					now += seconds
					gpu.pass(random, seconds)
					if random.IntN(3) == 0 {
						gpu.pods[0] = map[string]*part{fmt.Sprint("pod-", now): {since: now}}
					}
				}
			})
		}
		for range 2 {
			l := newLedger(t, url)
			rollers.Go(func() {
				for {
					err := l.db.rollUp(t.Context(), first, last)
					select {
					case <-ended:
						assert.NoError(t, err)
						return
					default:
					}
				}
			})
		}
		writers.Wait()
		close(ended)
		rollers.Wait()
		db := newLedger(t, url).db
		for since := first; since.Before(last); since = since.Add(day) {
			q := &question{Since: since, Until: since.Add(day), By: "namespace"}
			got, err := db.report(t.Context(), q)
			require.NoError(t, err)
			want, err := db.reportOf(t.Context(), q, nil)
			require.NoError(t, err)
			require.Len(t, got.Rows, len(want.Rows))
			for i, r := range want.Rows {
				assert.InDelta(t, r.Held, got.Rows[i].Held, 1e-3)
				assert.InDelta(t, r.Unknown, got.Rows[i].Unknown, 1e-3)
			}
		}
		rolled, err := db.rolledDays(t.Context(), first, last)
		require.NoError(t, err)
		assert.NotEmpty(t, rolled)
	})
}
