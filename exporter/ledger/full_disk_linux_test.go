// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
)

// smallDisk puts the tables that will be created in a database on a file system of their own, and returns its directory.
func smallDisk(t *testing.T, database string) string {
	t.Helper()
	parsed, err := parseURL(database)
	require.NoError(t, err)
	u, err := url.Parse(database)
	require.NoError(t, err)
	db, err := parsed.open(nil)
	require.NoError(t, err)
	name, dir := path.Base(u.Path), filepath.Dir(strings.TrimPrefix(database, "sqlite:"))
	if parsed.dialect != sqlite {
		query := map[dialect]string{postgres: "SHOW data_directory", mySQL: "SELECT @@datadir"}[parsed.dialect]
		require.NoError(t, db.QueryRow(query).Scan(&dir))
		dir = filepath.Join(dir, name)
	}
	info, err := os.Stat(filepath.Dir(dir))
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	require.NoError(t, os.MkdirAll(dir, 0o700)) // MariaDB has it
	if err := syscall.Mount("ledger", dir, "tmpfs", 0, fmt.Sprintf("size=32m,mode=0700,uid=%d,gid=%d", owner.Uid, owner.Gid)); err != nil {
		t.Skip("SKIP: ledger: a full disk needs a file system, and mounting is not permitted: ", err)
	}
	if parsed.dialect == postgres {
		for _, statement := range []string{"CREATE TABLESPACE " + name + " LOCATION '" + dir + "'", "ALTER DATABASE " + name + " SET default_tablespace = " + name} {
			_, err := db.Exec(statement)
			require.NoError(t, err)
		}
	}
	t.Cleanup(func() {
		names := []string{"goose_db_version", "allocations_daily"}
		for _, table := range tables {
			names = append(names, table.name)
		}
		for _, table := range names {
			_, err := db.Exec("DROP TABLE IF EXISTS " + table)
			assert.NoError(t, err)
		}
		if parsed.dialect == postgres {
			_, err := db.Exec("DROP TABLESPACE " + name)
			assert.NoError(t, err)
		}
		assert.NoError(t, db.Close())
		assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH))
		if parsed.dialect == postgres {
			assert.NoError(t, os.Remove(dir))
		}
	})
	return dir
}

// While the disk of a database is full, records and reads are refused with what to do. When there is space again they come again, and each
// counts once.
func TestFullDisk(t *testing.T) {
	if servers["postgres"] == "" && servers["mariadb"] == "" {
		t.Skip("needs a server: make test-ledger")
	}
	onEach(t, func(t *testing.T, newURL func() string) {
		database := newURL()
		dir := smallDisk(t, database)
		l := newLedger(t, database)
		gpu := newLife("GPU-1")
		gpu.pods[0]["train-0"] = &part{since: 60}
		const records = 100 // of a request, of a kilobyte each
		send := func(n int64) error {
			var logs []plog.Logs
			for i := range records {
				logs = append(logs, record(n, "hw.gpu.status", fmt.Sprint(n, "/", i), "text", strings.Repeat("x", 1_000)))
			}
			if err := l.consumeLogs(t.Context(), together(logs)); err != nil {
				return err
			}
			return l.consumeMetrics(t.Context(), gpu.metrics(60*n))
		}
		require.NoError(t, send(1))
		filler := filepath.Join(dir, "filler")
		file, err := os.Create(filler)
		require.NoError(t, err)
		for size := 1 << 20; size >= 512; { // to the last block
			if _, err := file.Write(make([]byte, size)); err != nil {
				require.ErrorIs(t, err, syscall.ENOSPC)
				size /= 2
			}
		}
		require.NoError(t, file.Close())

		last := int64(1)
		for err == nil {
			last++
			require.Less(t, last, int64(100), "the disk is not full")
			err = send(last)
		}
		t.Log(err)
		require.ErrorContains(t, err, "free space on the disk of the database")
		assert.False(t, consumererror.IsPermanent(err), "the queue keeps the records")
		require.ErrorContains(t, send(last), "free space on the disk of the database")
		require.NoError(t, os.Remove(filler))
		for range 2 {
			require.NoError(t, send(last))
		}
		assert.Len(t, contents(t, l.db.DB, "SELECT uid FROM gpu_events"), int(last)*records)
		assert.Equal(t, []string{fmt.Sprintf("held=%d ", 60*(last-1))}, contents(t, l.db.DB, "SELECT SUM(held_time) AS held FROM allocations"))
	})
}
