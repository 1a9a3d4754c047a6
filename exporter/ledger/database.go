// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	statements map[*table]*sql.Stmt // by prepare
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
	return &database{DB: db, dialect: parsed.dialect, statements: map[*table]*sql.Stmt{}}, nil
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

// prepare prepares the statements that write the rows of the tables. A transaction must not: it could wait for a connection while it has one.
func (db *database) prepare(ctx context.Context) error {
	for _, t := range tables {
		if db.statements[t] != nil {
			continue
		}
		statement, err := db.PrepareContext(ctx, t.upsert(db.dialect))
		if err != nil {
			return fmt.Errorf("prepare to write to %s: %w", t.name, err)
		}
		db.statements[t] = statement
	}
	return nil
}

// close ends the connections.
func (db *database) close() error {
	for _, s := range db.statements {
		_ = s.Close() // the connection ends with it
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
func (b *batch) write(r row) error {
	if _, err := b.tx.StmtContext(b.ctx, b.statements[r.table]).ExecContext(b.ctx, r.arguments()...); err != nil {
		return fmt.Errorf("write to %s: %w", r.table.name, err)
	}
	return nil
}

// queryText reads one text. It stays as it is if there is no row.
func (b *batch) queryText(result *string, query string, arguments ...any) error {
	err := b.tx.QueryRowContext(b.ctx, query, arguments...).Scan(result)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
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

func (b *batch) writeAll(rows []row) error {
	for _, r := range rows {
		if err := b.write(r); err != nil {
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
