// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/collector/consumer/consumererror"
	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// database is an open database with the tables of this program.
type database struct {
	*sql.DB
	dialect    dialect
	statements map[*table][]*sql.Stmt // by prepare: for 1 row, for 2, 4 and so on
}

// openDatabase opens the database of a configuration. It connects to nothing.
func openDatabase(ctx context.Context, cfg *Config) (*database, error) {
	text := string(cfg.URL)
	if cfg.URLFile != "" {
		content, err := os.ReadFile(cfg.URLFile)
		if err != nil {
			return nil, fmt.Errorf("url_file: %w", err)
		}
		text = strings.TrimSpace(string(content))
	}
	parsed, err := parseURL(text)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	db, err := parsed.openWith(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &database{DB: db, dialect: parsed.dialect, statements: map[*table][]*sql.Stmt{}}, nil
}

func (o *opener) openWith(ctx context.Context, cfg *Config) (*sql.DB, error) {
	if !cfg.TLS.HasValue() {
		return o.open(nil)
	}
	secure, err := cfg.TLS.Get().LoadTLSConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return o.open(secure)
}

// statementSizes is how many statements a table has. The largest writes 32 rows: for a message of a node with 8 GPUs the database is asked
// some times, not some times for each GPU.
const statementSizes = 6

// prepare prepares the statements that write the rows of the tables. A transaction must not: it could wait for a connection while it has one.
func (db *database) prepare(ctx context.Context) error {
	for _, t := range tables {
		for len(db.statements[t]) < statementSizes {
			statement, err := db.PrepareContext(ctx, t.upsert(db.dialect, 1<<len(db.statements[t])))
			if err != nil {
				return fmt.Errorf("prepare to write to %s: %w", t.name, err)
			}
			db.statements[t] = append(db.statements[t], statement)
		}
	}
	return nil
}

// close ends the connections.
func (db *database) close() error {
	for _, statements := range db.statements {
		for _, s := range statements {
			_ = s.Close() // the connection ends with it
		}
	}
	return db.DB.Close()
}

// batch is a transaction.
type batch struct {
	*database
	ctx context.Context //nolint:containedctx // a batch lives as long as the call that makes it
	tx  *sql.Tx
}

// inBatch runs a function in a transaction: all rows are written, or no row.
func (db *database) inBatch(ctx context.Context, write func(*batch) error) error {
	return db.inTransaction(ctx, nil, write)
}

func (db *database) inTransaction(ctx context.Context, options *sql.TxOptions, write func(*batch) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return classified(err)
	}
	if err := write(&batch{db, ctx, tx}); err != nil {
		_ = tx.Rollback() // the first error says more
		return classified(err)
	}
	return classified(tx.Commit())
}

// write writes a row, or merges it into the row with the same key.
func (b *batch) write(r row) error { return b.writeTo(r.table, []row{r}) }

// writeTo writes rows of a table. No two have the same key, which PostgreSQL does not allow in one statement.
func (b *batch) writeTo(t *table, rows []row) error {
	for len(rows) > 0 {
		size := min(bits.Len(uint(len(rows))), statementSizes) - 1
		var arguments []any
		for _, r := range rows[:1<<size] {
			arguments = append(arguments, r.arguments()...)
		}
		if _, err := b.tx.StmtContext(b.ctx, b.statements[t][size]).ExecContext(b.ctx, arguments...); err != nil {
			return fmt.Errorf("write to %s: %w", t.name, err)
		}
		rows = rows[1<<size:]
	}
	return nil
}

const (
	full     = "free space on the disk of the database; the queue keeps the records until then"
	readOnly = "the database is read-only: make it writable, or set the URL of its primary server; the queue keeps the records until then"
	denied   = "give the account SELECT, INSERT, UPDATE and DELETE on the tables of the ledger; the queue keeps the records until then"
)

// remedies say what to do about errors that last, by the codes of PostgreSQL, MySQL and SQLite.
var (
	remediesOfPostgres = map[string]string{"53100": full, "25006": readOnly, "42501": denied}
	remediesOfMySQL    = map[uint16]string{1021: full, 1114: full, 1290: readOnly, 1792: readOnly, 1142: denied}
	remediesOfSQLite   = map[int]string{sqlite3.SQLITE_FULL: full, sqlite3.SQLITE_READONLY: readOnly}
)

// classified makes an error permanent if the values are at fault, so that one record does not hold up all others.
func classified(err error) error {
	var fromPostgres *pgconn.PgError
	if errors.As(err, &fromPostgres) && (strings.HasPrefix(fromPostgres.Code, "22") || strings.HasPrefix(fromPostgres.Code, "23")) {
		return consumererror.NewPermanent(err)
	}
	var fromMySQL *mysql.MySQLError
	if errors.As(err, &fromMySQL) && strings.HasPrefix(string(fromMySQL.SQLState[:]), "22") {
		return consumererror.NewPermanent(err)
	}
	return withRemedy(err)
}

// withRemedy says what to do about an error that lasts.
func withRemedy(err error) error {
	var fromPostgres *pgconn.PgError
	var fromMySQL *mysql.MySQLError
	var fromSQLite *sqlitedriver.Error
	remedy := ""
	switch {
	case errors.As(err, &fromPostgres):
		remedy = remediesOfPostgres[fromPostgres.Code]
	case errors.As(err, &fromMySQL):
		remedy = remediesOfMySQL[fromMySQL.Number]
	case errors.As(err, &fromSQLite):
		remedy = remediesOfSQLite[fromSQLite.Code()&0xff] // the rest is the extended code
	}
	if remedy == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}

// writeAll writes rows of any tables. Rows with the same key are written in their order.
func (b *batch) writeAll(rows []row) error {
	waiting := map[*table][]row{}
	keys := map[*table]map[string]bool{}
	flush := func(t *table) error {
		err := b.writeTo(t, waiting[t])
		waiting[t], keys[t] = waiting[t][:0], map[string]bool{}
		return err
	}
	for _, r := range rows {
		k := r.key()
		if keys[r.table] == nil || keys[r.table][k] {
			if err := flush(r.table); err != nil {
				return err
			}
		}
		keys[r.table][k] = true
		waiting[r.table] = append(waiting[r.table], r)
	}
	for _, t := range tables {
		if err := flush(t); err != nil {
			return err
		}
	}
	return nil
}

// writeEach writes rows one by one, after the database refused a value of one of them. The others are kept.
func (db *database) writeEach(ctx context.Context, rows []row) error {
	var refused []error
	for _, r := range rows {
		err := db.inBatch(ctx, func(b *batch) error { return b.write(r) })
		if err != nil && !consumererror.IsPermanent(err) {
			return err // all come again
		}
		refused = append(refused, err)
	}
	if err := errors.Join(refused...); err != nil {
		return consumererror.NewPermanent(err)
	}
	return nil
}
