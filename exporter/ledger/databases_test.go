// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/exporter/exportertest"

	"github.com/otelgpu/gpureceiver/exporter/ledger/internal/metadata"
)

// servers are URLs of real servers with an account that may create databases, by the name of the test. make test-ledger sets them.
var servers = map[string]string{"postgres": os.Getenv("LEDGER_POSTGRES"), "mariadb": os.Getenv("LEDGER_MARIADB")}

// onEach runs a test on SQLite, and on the servers that are there. Each test has a new, empty database.
func onEach(t *testing.T, test func(t *testing.T, newURL func() string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		n := 0
		dir := t.TempDir()
		test(t, func() string {
			n++
			return "sqlite:" + filepath.Join(dir, fmt.Sprint(n, ".db"))
		})
	})
	for name, server := range servers {
		if server == "" {
			continue
		}
		t.Run(name, func(t *testing.T) { test(t, func() string { return newDatabase(t, server) }) })
	}
}

// newDatabase creates a database on a server, and drops it at the end.
func newDatabase(t *testing.T, server string) string {
	t.Helper()
	parsed, err := parseURL(server)
	require.NoError(t, err)
	db, err := parsed.open(nil)
	require.NoError(t, err)
	name := "ledger_" + strings.ReplaceAll(identifier(t.Name(), t.TempDir()), "-", "")
	_, err = db.Exec("CREATE DATABASE " + name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := db.Exec("DROP DATABASE " + name)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	})
	u, err := url.Parse(server)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}

// newLedger starts the instance of a configuration.
func newLedger(t *testing.T, database string, change ...func(*Config)) *instance {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.URL = configopaque.String(database)
	for _, c := range change {
		c(cfg)
	}
	require.NoError(t, cfg.Validate())
	i, err := newInstance(cfg, exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	require.NoError(t, i.start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, i.Shutdown(t.Context())) })
	return i
}

// contents returns the rows of a query as texts, with numbers rounded to microseconds: sums of floating-point numbers depend on their order.
func contents(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var result []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		require.NoError(t, rows.Scan(values...))
		var b strings.Builder
		for i, v := range values {
			if v = *v.(*any); v == nil {
				continue
			}
			switch value := v.(type) {
			case []byte:
				v = string(value)
			case float64:
				v = fmt.Sprintf("%.6g", value)
			}
			fmt.Fprintf(&b, "%s=%v ", columns[i], v)
		}
		result = append(result, b.String())
	}
	require.NoError(t, rows.Err())
	return result
}

// allTables returns the contents of the tables of records and metrics.
func allTables(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	result := map[string][]string{}
	for _, table := range tables {
		if table == gpuReads || table == allocationDays {
			continue // only the exporter uses it
		}
		var keys []string
		for _, c := range table.columns {
			if c.rule == key {
				keys = append(keys, c.name)
			}
		}
		result[table.name] = contents(t, db, "SELECT * FROM "+table.name+" ORDER BY "+strings.Join(keys, ", "))
	}
	return result
}

// asText is a time as text, in whole seconds, in the SQL of all databases.
func asText(column string) string { return "SUBSTR(CAST(" + column + " AS CHAR(26)), 1, 19)" }
