// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// What the ledger of the fleet costs. LEDGER_SCALE is how many minutes of it are written; make ledger-scale sets it.
func TestScaleOfWrites(t *testing.T) {
	minutes, _ := strconv.Atoi(os.Getenv("LEDGER_SCALE"))
	if minutes == 0 {
		t.Skip("LEDGER_SCALE is not set: make ledger-scale")
	}
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		f := newFleet(start)
		var wall, slowest time.Duration
		var cpu, server, rows float64
		var size int64
		const warm = 2 // minutes, until each GPU has its rows of the hour
		for minute := range warm + minutes {
			if minute == warm {
				wall, slowest, cpu, server = 0, 0, 0, serverCPU(t, l.db)
				size, rows = sizeOf(t, l.db), rowsOf(t, l.db)
			}
			var took time.Duration
			for now := start + int64(minute)*60; now < start+int64(minute+1)*60; now += fleetInterval {
				logs := f.step(now)
				var messages []pmetric.Metrics
				for node := range fleetNodes {
					messages = append(messages, f.metrics(node, now))
				}
				before, used := time.Now(), ownCPU(t)
				for _, m := range messages {
					require.NoError(t, l.consumeMetrics(t.Context(), m))
				}
				require.NoError(t, l.consumeLogs(t.Context(), logs))
				took += time.Since(before)
				cpu += ownCPU(t) - used
			}
			wall += took
			slowest = max(slowest, took)
		}
		n := float64(minutes)
		grown, added := float64(sizeOf(t, l.db)-size), rowsOf(t, l.db)-rows
		const upserts = fleetNodes * gpusOfNode * 60 / fleetInterval * 3 // of allocations, gpus and gpu_reads
		t.Logf("a minute of the fleet: %.2f s, at most %.2f s; %.0f rows of metrics a second", wall.Seconds()/n, slowest.Seconds(), upserts*n/wall.Seconds())
		t.Logf("CPU of the exporter: %.2f s a minute; of the server: %.2f s", cpu/n, (serverCPU(t, l.db)-server)/n)
		t.Logf("a day: %.2f million rows, %.2f GB", added/n*1440/1e6, grown/n*1440/1e9)
		t.Logf("memory of the test, with the messages of an interval: %.0f MiB; of the server: %.0f MiB", procMiB(t, os.Getpid(), "status", "VmHWM:"), serverMiB(t, l.db))
	})
}

// A report over some days of the fleet on PostgreSQL, made at 10:00 of the day after, with days that are rolled up and without them.
// LEDGER_SCALE_DAYS is the number of days.
func TestScaleOfReports(t *testing.T) {
	days, _ := strconv.Atoi(os.Getenv("LEDGER_SCALE_DAYS"))
	if days == 0 || servers["postgres"] == "" {
		t.Skip("LEDGER_SCALE_DAYS or LEDGER_POSTGRES is not set: make ledger-scale")
	}
	db := newLedger(t, newDatabase(t, servers["postgres"])).db
	run := func(what, statement string) {
		before := time.Now()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Error(err)
		}
		if what != "" {
			t.Logf("%s: %.1f s", what, time.Since(before).Seconds())
		}
	}
	each := func(do func(first time.Time, d int)) float64 { // three days at a time
		before := time.Now()
		var workers sync.WaitGroup
		for n := range 3 {
			workers.Go(func() {
				for d := n; d <= days; d += 3 {
					do(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, d), d)
				}
			})
		}
		workers.Wait()
		return time.Since(before).Seconds() / float64(days+1)
	}
	run("", "ALTER TABLE allocations SET UNLOGGED")
	run("", "ALTER TABLE allocations DROP CONSTRAINT allocations_pkey")
	run("", "DROP INDEX allocations_hour_time")
	took := each(func(start time.Time, d int) {
		// Pod k of GPU g has it from minute 16k to 16k+15 of the day, after which the GPU is free for a minute; a pod can be in two hours.
		run("", fmt.Sprintf(`INSERT INTO allocations (hw_id, holder, hour_time, start_time, end_time, hw_model, k8s_cluster_name, k8s_node_name, host_name, k8s_namespace_name,
	k8s_pod_name, k8s_pod_uid, k8s_container_name, k8s_workload_kind, k8s_workload_name, labels, share,
	held_time, busy_time, idle_time, unknown_use_time, unallocated_time, unknown_time, energy, memory_peak)
SELECT 'GPU-' || md5(g::text)::uuid, CASE WHEN pod THEN md5(id::text)::uuid::text ELSE '' END, t, t, t, 'NVIDIA H100 80GB HBM3', 'fleet', 'node-' || g / 8, 'node-' || g / 8,
	CASE WHEN pod THEN 'team-' || w %% 40 END, CASE WHEN pod THEN 'train-' || w || '-' || id END, CASE WHEN pod THEN md5(id::text)::uuid::text END,
	CASE WHEN pod THEN 'main' END, CASE WHEN pod THEN 'Job' END, CASE WHEN pod THEN 'train-' || w END,
	CASE WHEN pod THEN '{"k8s.pod.label.team":"team-' || w %% 40 || '"}' END, 1,
	held, held * 0.7, held * 0.3, 0, CASE WHEN pod THEN 0 ELSE 180 END, 0, CASE WHEN pod THEN held * 450 END, 64424509440
FROM (
	SELECT g, true AS pod, %[2]d * 720000 + k * 8000 + g AS id, (%[2]d * 720000 + k * 8000 + g) / 10 AS w, timestamp '%[1]s' + interval '1 hour' * (16 * k / 60 + part) AS t,
		60.0 * CASE WHEN part = 1 THEN 16 * k %% 60 - 45 ELSE LEAST(15, 60 - 16 * k %% 60) END AS held
	FROM generate_series(0, 89) k, generate_series(0, 1) part, generate_series(0, 7999) g WHERE part = 0 OR 16 * k %% 60 > 45
	UNION ALL SELECT g, false, 0, 0, timestamp '%[1]s' + interval '1 hour' * h, 0 FROM generate_series(0, 23) h, generate_series(0, 7999) g
) AS pods`, start.Format(time.DateTime), d))
	})
	t.Logf("rows: %.1f s a day", took)
	run("primary key", "ALTER TABLE allocations ADD PRIMARY KEY (hw_id, holder, hour_time)")
	run("index", "CREATE INDEX allocations_hour_time ON allocations (hour_time)")
	run("vacuum", "VACUUM ANALYZE allocations")
	var rows, size float64
	require.NoError(t, db.QueryRow("SELECT COUNT(*), pg_total_relation_size('allocations') FROM allocations").Scan(&rows, &size))
	t.Logf("%.1f million rows, %.1f GB", rows/1e6, size/1e9)
	first, today := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1+days, 0, 0, 0, 0, time.UTC)
	took = each(func(start time.Time, _ int) {
		if start.Before(today) {
			assert.NoError(t, db.rollUp(t.Context(), start, start.Add(day)))
		}
	})
	t.Logf("roll up: %.1f s a day", took)
	run("vacuum", "VACUUM ANALYZE allocations_daily")
	var lines, bytes float64
	require.NoError(t, db.QueryRow("SELECT COUNT(*), pg_total_relation_size('allocations_daily') FROM allocations_daily").Scan(&lines, &bytes))
	t.Logf("allocations_daily: %.2f million rows, %.2f GB", lines/1e6, bytes/1e9)
	for _, dimension := range []string{"namespace", "node", "label"} {
		q := &question{Since: first.Add(10 * time.Hour), Until: today.Add(10 * time.Hour), By: dimension}
		if dimension == "label" {
			q.Label = "team"
		}
		timed := func(report func() (*reportAnswer, error)) (*reportAnswer, float64) {
			before := time.Now()
			answer, err := report()
			require.NoError(t, err)
			return answer, time.Since(before).Seconds()
		}
		got, fast := timed(func() (*reportAnswer, error) { return db.report(t.Context(), q) })
		t.Logf("report of %d days by %s: %.2f s", days, dimension, fast)
		if dimension != "namespace" {
			continue
		}
		want, slow := timed(func() (*reportAnswer, error) { return db.reportOf(t.Context(), q, nil) })
		t.Logf("without days that are rolled up: %.2f s", slow)
		require.Len(t, got.Rows, len(want.Rows))
		for i, r := range want.Rows {
			assert.InEpsilon(t, r.Held+r.Unallocated, got.Rows[i].Held+got.Rows[i].Unallocated, 1e-9)
		}
	}
	before := time.Now()
	require.NoError(t, db.deleteBefore(t.Context(), first.Add(day), maxDeleted))
	t.Logf("retention deletes a day: %.1f s", time.Since(before).Seconds())
}

func rowsOf(t *testing.T, db *database) float64 {
	sum := 0.0
	for _, table := range tables {
		var n float64
		require.NoError(t, db.QueryRow("SELECT COUNT(*) FROM "+table.name).Scan(&n))
		sum += n
	}
	return sum
}

// sizeOf returns the bytes of a database with its indexes, without dead rows.
func sizeOf(t *testing.T, db *database) int64 {
	if db.dialect == postgres {
		_, err := db.Exec("VACUUM FULL")
		require.NoError(t, err)
	}
	query := map[dialect]string{
		sqlite:   "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
		postgres: "SELECT pg_database_size(current_database())",
		mySQL:    "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE()",
	}[db.dialect]
	var size int64
	require.NoError(t, db.QueryRow(query).Scan(&size))
	return size
}

func ownCPU(t *testing.T) float64 {
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// serverPIDs returns the processes of the server on this machine.
func serverPIDs(db *database) []int {
	content, _ := os.ReadFile(os.Getenv(map[dialect]string{postgres: "LEDGER_POSTGRES_PID", mySQL: "LEDGER_MARIADB_PID"}[db.dialect]))
	main, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return nil
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", main))
	pids := []int{main}
	for child := range strings.FieldsSeq(string(children)) {
		pid, _ := strconv.Atoi(child)
		pids = append(pids, pid)
	}
	return pids
}

// serverCPU returns the seconds of the server's processes, and of those that have ended.
func serverCPU(t *testing.T, db *database) float64 {
	ticks := 0
	for i, pid := range serverPIDs(db) {
		content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		require.NoError(t, err)
		fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')'):]))
		for n, field := range fields[12:16] { // utime, stime, cutime, cstime
			if value, _ := strconv.Atoi(field); n < 2 || i == 0 {
				ticks += value
			}
		}
	}
	return float64(ticks) / 100
}

func serverMiB(t *testing.T, db *database) float64 {
	sum := 0.0
	for _, pid := range serverPIDs(db) {
		sum += procMiB(t, pid, "smaps_rollup", "Pss:")
	}
	return sum
}

func procMiB(t *testing.T, pid int, file, name string) float64 {
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(content), name)
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(t, err)
	return kib / 1024
}
