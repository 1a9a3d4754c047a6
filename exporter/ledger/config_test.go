// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/exporter/ledger/internal/metadata"
)

// Each wrong setting has an error with its key, and no error has a password in it.
func TestWrongSettings(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"url: is missing":                        func(c *Config) { c.URL = "" },
		"url, url_file: only one":                func(c *Config) { c.URLFile = "file" },
		"url: must begin with sqlite:":           func(c *Config) { c.URL = "oracle://scott:secret@host/db" },
		"url: cannot parse":                      func(c *Config) { c.URL = "postgres://ledger:secret@host:port/db" },
		"url: must be mysql://user":              func(c *Config) { c.URL = "mysql://ledger:secret@host" },
		"url: must be sqlite: and the path":      func(c *Config) { c.URL = "sqlite:" },
		"max_gap: must be from 1s to 1h0m0s":     func(c *Config) { c.MaxGap = 0 },
		"retention: must be 0 or at least 24h0m": func(c *Config) { c.Retention = time.Hour },
	} {
		cfg := createDefaultConfig().(*Config)
		cfg.URL = "sqlite:file"
		change(cfg)
		err := cfg.Validate()
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "secret")
	}
}

// The URL can be in a file.
func TestURLFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "url")
	require.NoError(t, os.WriteFile(file, []byte("sqlite:"+filepath.Join(dir, "ledger ä?.db")+"\n"), 0o600))
	cfg := createDefaultConfig().(*Config)
	cfg.URLFile = file
	_, err := openDatabase(t.Context(), cfg)
	require.ErrorContains(t, err, "without parameters")
	require.NoError(t, os.WriteFile(file, []byte("sqlite:"+filepath.Join(dir, "ledger ä%.db")+"\n"), 0o600))
	newLedger(t, "", func(c *Config) { c.URLFile = file })
	assert.FileExists(t, filepath.Join(dir, "ledger ä%.db"))
}

// With tables of a newer program the exporter does not start. Without migrate it creates no tables.
func TestSchemaOfAnotherVersion(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		database := newURL()
		check := newLedger(t, database, func(c *Config) { c.Migrate = false })
		err := check.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1"))
		require.ErrorContains(t, err, "set migrate: true once")
		l := newLedger(t, database)
		require.NoError(t, check.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1")), "the tables are there now")
		_, err = l.db.Exec("UPDATE goose_db_version SET version_id = 99 WHERE version_id > 0")
		require.NoError(t, err)
		cfg := createDefaultConfig().(*Config)
		cfg.URL = configopaque.String(database)
		newer, err := newInstance(cfg, exportertest.NewNopSettings(metadata.Type))
		require.NoError(t, err)
		require.ErrorContains(t, newer.start(t.Context(), componenttest.NewNopHost()), "their version is 99, this program supports")
		require.NoError(t, newer.Shutdown(t.Context()))
	})
}

// Programs that start at the same time create the tables once, and none of them drops records.
func TestStartAtTheSameTime(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		database := newURL()
		errs := make(chan error)
		for n := range 4 {
			l := startedLater(t, database)
			go func() {
				logs := together([]plog.Logs{record(0, "hw.gpu.status", "u"), record(0, "hw.gpu.status", strconv.Itoa(n))})
				err := l.consumeLogs(t.Context(), logs)
				for range 10 { // as the queue does
					if err != nil && !consumererror.IsPermanent(err) {
						err = l.consumeLogs(t.Context(), logs)
					}
				}
				errs <- err
			}()
		}
		for range 4 {
			require.NoError(t, <-errs)
		}
		assert.Len(t, contents(t, newLedger(t, database).db.DB, "SELECT uid FROM gpu_events"), 5)
	})
}

// startedLater returns a ledger that creates the tables with the first records.
func startedLater(t *testing.T, database string) *instance {
	t.Helper()
	l := newLedger(t, database, func(c *Config) { c.Migrate = false })
	l.cfg.Migrate = true
	return l
}

// A table that another program creates at the same time is a duplicate key to PostgreSQL. The queue keeps the records, unlike the ones with
// duplicate keys of their own.
func TestTableOfAnotherProgram(t *testing.T) {
	if servers["postgres"] == "" {
		t.Skip("LEDGER_POSTGRES names no server: make test-ledger")
	}
	l := startedLater(t, newDatabase(t, servers["postgres"]))
	content, err := migrations.ReadFile("migrations/00001_tables.sql")
	require.NoError(t, err)
	table, _, _ := strings.Cut(string(content), ";\n")
	other, err := l.db.Begin()
	require.NoError(t, err)
	_, err = other.Exec(table)
	require.NoError(t, err)
	refused := make(chan error, 1)
	go func() { refused <- l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1")) }()
	waits := "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	require.Eventually(t, func() bool {
		var count int
		return l.db.QueryRow(waits).Scan(&count) == nil && count > 0
	}, time.Minute, 10*time.Millisecond, "it does not wait for the other program")
	require.NoError(t, other.Commit())
	err = <-refused
	require.ErrorContains(t, err, "SQLSTATE 23505")
	assert.False(t, consumererror.IsPermanent(err), "the queue keeps the record")
	require.NoError(t, l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1")))
	assert.Len(t, contents(t, l.db.DB, "SELECT uid FROM gpu_events"), 1)
}

// With TLS the connection is encrypted, and a server with a certificate of another authority is refused.
func TestTLS(t *testing.T) {
	certificate := os.Getenv("LEDGER_CERTIFICATE")
	if certificate == "" {
		t.Skip("LEDGER_CERTIFICATE names no file: make test-ledger")
	}
	stranger := httptest.NewTLSServer(nil)
	defer stranger.Close()
	other := filepath.Join(t.TempDir(), "other.pem")
	require.NoError(t, os.WriteFile(other, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: stranger.Certificate().Raw}), 0o600))
	onEach(t, func(t *testing.T, newURL func() string) {
		database := newURL()
		if strings.HasPrefix(database, "sqlite:") {
			return // it has no connections
		}
		with := func(authority string) *instance {
			return newLedger(t, database, func(c *Config) { c.TLS.GetOrInsertDefault().CAFile = authority })
		}
		require.ErrorContains(t, with(other).consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1")), "certificate signed by unknown authority")
		l := with(certificate)
		require.NoError(t, l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1")))
		encrypted := map[dialect]string{
			postgres: "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl",
			mySQL:    "SELECT variable_value FROM information_schema.session_status WHERE variable_name = 'Ssl_cipher' AND variable_value <> ''",
		}[l.db.dialect]
		assert.Len(t, contents(t, l.db.DB, encrypted), 1)
	})
}

// A database that is away does not stop the collector, and what comes is refused so that the queue keeps it.
func TestDatabaseAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	l := newLedger(t, "sqlite:"+filepath.Join(dir, "ledger.db"))
	require.Error(t, l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1")))
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1")))
	assert.Len(t, contents(t, l.db.DB, "SELECT uid FROM gpu_events"), 1)
}

// A full or read-only database refuses records, says what to do, and loses nothing: the records come again and are written.
func TestFullAndReadOnlyDatabases(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		l.db.SetMaxOpenConns(1) // the settings are of a connection
		set := map[dialect][2]string{
			sqlite:   {"PRAGMA query_only = 1", "PRAGMA query_only = 0"},
			postgres: {"SET default_transaction_read_only = on", "SET default_transaction_read_only = off"},
			mySQL:    {"SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE"},
		}[l.db.dialect]
		_, err := l.db.Exec(set[0])
		require.NoError(t, err)
		err = l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1"))
		require.ErrorContains(t, err, "the database is read-only: make it writable")
		assert.False(t, consumererror.IsPermanent(err), "the queue keeps the record")
		_, err = l.db.Exec(set[1])
		require.NoError(t, err)
		require.NoError(t, l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u1")))
		assert.Len(t, contents(t, l.db.DB, "SELECT uid FROM gpu_events"), 1)

		if l.db.dialect != sqlite {
			return // TestFullDisk fills the disks of servers
		}
		_, err = l.db.Exec("PRAGMA max_page_count = 1") // as many as there are now
		require.NoError(t, err)
		var written int
		for written = 2; err == nil; written++ {
			require.Less(t, written, 1000)
			err = l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u"+strconv.Itoa(written)))
		}
		require.ErrorContains(t, err, "free space on the disk of the database")
		assert.False(t, consumererror.IsPermanent(err), "the queue keeps the record")
		_, err = l.db.Exec("PRAGMA max_page_count = 100000")
		require.NoError(t, err)
		require.NoError(t, l.consumeLogs(t.Context(), record(0, "hw.gpu.status", "u"+strconv.Itoa(written-1))))
		assert.Len(t, contents(t, l.db.DB, "SELECT uid FROM gpu_events"), written-1)
	})
}

// Rows that are older than the retention are deleted, a bounded number at a time; newer ones stay.
func TestRetention(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		var records []plog.Logs
		for n := range 25 {
			records = append(records, record(int64(n), "hw.gpu.status", "gpu"+strconv.Itoa(n)),
				record(int64(n), "k8s.pod.gpu.created", "pod"+strconv.Itoa(n), "k8s.pod.uid", strconv.Itoa(n), "k8s.workload.uid", "w"))
		}
		require.NoError(t, l.consumeLogs(t.Context(), together(records)))
		require.NoError(t, l.db.deleteBefore(t.Context(), time.Unix(20, 0), 3))
		for _, name := range []string{"gpu_events", "gpu_pods_events", "gpu_pods", "workload_pod_references"} {
			assert.Len(t, contents(t, l.db.DB, "SELECT * FROM "+name), 5, name)
		}
	})
}

// The report answers on the loopback, and refuses wrong questions and names that are not the loopback's.
func TestReportServer(t *testing.T) {
	l := newLedger(t, "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), func(c *Config) {
		c.Report.GetOrInsertDefault().NetAddr.Endpoint = "127.0.0.1:0"
	})
	get := func(query, host string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, reportPath+"?"+query, nil)
		r.Host = host
		w := httptest.NewRecorder()
		l.server.http.Handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const times = "since=2026-01-01T00:30:00Z&until=2026-01-02T00:00:00Z"
	code, body := get(times+"&by=namespace", "localhost:9411")
	assert.Equal(t, http.StatusOK, code)
	assert.JSONEq(t, `{"since":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z","rows":[]}`, body)
	code, _ = get(times+"&by=namespace", "evil.example")
	assert.Equal(t, http.StatusMisdirectedRequest, code)
	for _, wrong := range []string{"by=namespace", times, times + "&by=pods", times + "&by=label", times + "&by=node&label=x"} {
		code, body = get(wrong, "127.0.0.1")
		assert.Equal(t, http.StatusBadRequest, code, wrong)
		assert.Contains(t, strings.Fields("since, until: by: label:"), strings.Fields(body)[0], wrong)
	}
}
