// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"bytes"
	"context"
	"database/sql"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/otelgpu/gpureceiver/test/histories"
)

// collector is the built distribution with the configuration of a gateway. OTELCOL_GPU_LEDGER is the program.
type collector struct {
	t    *testing.T
	env  []string
	args []string
	url  string
	cmd  *exec.Cmd
}

func newCollector(t *testing.T, database string) *collector {
	t.Helper()
	program := os.Getenv("OTELCOL_GPU_LEDGER")
	if program == "" {
		t.Skip("OTELCOL_GPU_LEDGER names no program: make test-ledger")
	}
	dir := t.TempDir()
	address := freeAddress(t)
	c := &collector{t: t, url: "http://" + address}
	c.env = append(os.Environ(), "LEDGER_URL="+database, "LEDGER_DIRECTORY="+dir, "OTLP_LISTEN="+freeAddress(t))
	c.args = []string{
		program, "--config", "../../config/ledger/gateway.yaml", "--config", "yaml:receivers::otlp::protocols::http::endpoint: " + address,
		"--config", "yaml:exporters::gpu_ledger::report::endpoint: " + freeAddress(t), "--config", "yaml:service::telemetry::metrics::level: none",
		"--config", "yaml:exporters::gpu_ledger::retry_on_failure::initial_interval: 50ms",
		"--config", "yaml:exporters::gpu_ledger::retry_on_failure::max_interval: 500ms",
	}
	c.start()
	t.Cleanup(c.kill)
	return c
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (c *collector) start() {
	c.cmd = exec.CommandContext(context.Background(), c.args[0], c.args[1:]...)
	c.cmd.Env = c.env
	log, err := os.OpenFile(filepath.Join(c.t.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(c.t, err)
	defer log.Close()
	c.cmd.Stdout, c.cmd.Stderr = log, log
	require.NoError(c.t, c.cmd.Start())
	c.awaitListener()
}

// awaitListener waits until the collector listens.
func (c *collector) awaitListener() {
	require.Eventually(c.t, func() bool {
		connection, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond, "the collector does not listen")
}

func (c *collector) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// send sends a request, which the collector accepts.
func (c *collector) send(path string, body []byte) {
	r, err := http.Post(c.url+path, "application/x-protobuf", bytes.NewReader(body))
	require.NoError(c.t, err)
	_ = r.Body.Close()
	require.Equal(c.t, http.StatusOK, r.StatusCode)
}

// However often the collector and the server of the database are killed, the tables have each record once, and the bill adds up.
func TestKills(t *testing.T) {
	kills, _ := strconv.Atoi(os.Getenv("LEDGER_KILLS"))
	kills = max(kills, 8)
	records := sentRecords(t)
	onEach(t, func(t *testing.T, newURL func() string) {
		oracle := newLedger(t, newURL())
		require.NoError(t, oracle.consumeLogs(t.Context(), together(records)))
		want := logTables(t, oracle.db.DB)
		database := newURL()
		c := newCollector(t, database)
		check := newLedger(t, database)
		check.db.SetMaxIdleConns(0) // a connection to a server that was killed is not used again
		lastRead := func() string {
			var read string
			_ = check.db.QueryRow("SELECT " + asText("read_time") + " FROM gpu_reads").Scan(&read) // the database may be away
			return read
		}
		h := histories.New(t, 1, 0)
		gpu := newLife("GPU-1")
		now := int64(86_400)
		for n := range 10 * kills {
			logs, err := plogotlp.NewExportRequestFromLogs(records[n%len(records)]).MarshalProto()
			require.NoError(t, err)
			c.send("/v1/logs", logs)
			metrics, err := pmetricotlp.NewExportRequestFromMetrics(gpu.metrics(now)).MarshalProto()
			require.NoError(t, err)
			c.send("/v1/metrics", metrics)
			now += 30
			gpu.pass(h.Rand, 30)
			h.Make(gpu.steps(h.Rand, now)...)
			if n%10 != 9 {
				continue
			}
			if n%20 == 9 && killServer(t, check.db) {
				continue
			}
			if h.Rand.IntN(2) == 0 { // otherwise while the queue is full
				former := lastRead()
				require.Eventually(t, func() bool { return lastRead() > former || lastRead() == readTime(now-30) }, time.Minute, 10*time.Millisecond)
			}
			c.kill()
			c.start()
		}
		for _, r := range records {
			logs, err := plogotlp.NewExportRequestFromLogs(r).MarshalProto()
			require.NoError(t, err)
			c.send("/v1/logs", logs)
		}
		last := now - 30
		assert.Eventually(t, func() bool {
			return lastRead() == readTime(last) && assert.ObjectsAreEqual(want, logTables(t, check.db.DB))
		}, 5*time.Minute, 100*time.Millisecond)
		require.Equal(t, want, logTables(t, check.db.DB))
		// A read that a kill interrupts comes again after later ones. So the time before the first read that was counted may be missing.
		var seconds float64
		var start string
		require.NoError(t, check.db.QueryRow("SELECT SUM(held_time) + SUM(unallocated_time) + SUM(unknown_time) FROM allocations").Scan(&seconds))
		require.NoError(t, check.db.QueryRow("SELECT "+asText("MIN(start_time)")+" FROM allocations").Scan(&start))
		counted, err := time.Parse(time.DateTime, start)
		require.NoError(t, err)
		assert.InDelta(t, last-counted.Unix(), seconds, 1e-3)
	})
}

func readTime(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.DateTime) }

// The shipped configurations are valid.
func TestShippedConfigurations(t *testing.T) {
	program := os.Getenv("OTELCOL_GPU_LEDGER")
	if program == "" {
		t.Skip("OTELCOL_GPU_LEDGER names no program: make test-ledger")
	}
	files, err := filepath.Glob("../../config/ledger/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		cmd := exec.CommandContext(t.Context(), program, "validate", "--config", file)
		cmd.Env = append(os.Environ(), "LEDGER_URL=postgres://ledger@127.0.0.1/ledger", "LEDGER_DIRECTORY="+t.TempDir())
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", file, output)
	}
}

// logTables returns the tables of records.
func logTables(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	all := allTables(t, db)
	for _, name := range []string{"gpus", "allocations"} {
		delete(all, name)
	}
	return all
}

// killServer kills the server of a database, which test/ledger/servers.sh starts again, and reports whether there is one.
func killServer(t *testing.T, db *database) bool {
	t.Helper()
	file := os.Getenv(map[dialect]string{postgres: "LEDGER_POSTGRES_PID", mySQL: "LEDGER_MARIADB_PID"}[db.dialect])
	if file == "" {
		return false
	}
	require.Eventually(t, func() bool { return db.Ping() == nil }, time.Minute, 20*time.Millisecond, "the server was not started again")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	require.NoError(t, err)
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	return true
}
