// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// typeNames has what a dialect writes in place of PostgreSQL's SQL.
var typeNames = map[dialect]*strings.Replacer{
	sqlite:   strings.NewReplacer("TIMESTAMP", "TEXT"),
	postgres: strings.NewReplacer(),
	// Names that differ only in case or accents are different.
	mySQL: strings.NewReplacer("TIMESTAMP", "DATETIME(6)", "\n);", "\n) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;", " TEXT", " MEDIUMTEXT"),
}

// errSchema is an error that no retry mends.
var errSchema = errors.New("the tables are newer than this program")

// migrate brings the tables to the version of this program, or only checks their version. Several programs can do so at the same time.
func migrate(ctx context.Context, db *sql.DB, d dialect, write bool) error {
	provider, err := newProvider(db, d)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	newest := sources[len(sources)-1].Version
	current, err := versionOf(ctx, db)
	if err != nil && !write {
		return fmt.Errorf("read the version of the tables: %w; set migrate: true once, or give the account SELECT on goose_db_version", err)
	}
	switch {
	case current > newest:
		return fmt.Errorf("%w: their version is %d, this program supports up to %d; use a newer program or another database", errSchema, current, newest)
	case current == newest:
		return nil
	case !write:
		return fmt.Errorf("the version of the tables is %d, this program needs %d; set migrate: true once with an account that may create tables", current, newest)
	}
	if _, err = provider.Up(ctx); err != nil {
		if version, _ := versionOf(ctx, db); version == newest { // another program was faster: SQLite has no lock for this
			return nil
		}
		return fmt.Errorf("create or update the tables: %w", withRemedy(err))
	}
	return nil
}

// versionOf returns the version of the tables; an error also if there are no tables.
func versionOf(ctx context.Context, db *sql.DB) (int64, error) {
	var version sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT MAX(version_id) FROM goose_db_version").Scan(&version)
	return version.Int64, err
}

func newProvider(db *sql.DB, d dialect) (*goose.Provider, error) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	steps := make([]*goose.Migration, 0, len(files))
	for _, file := range files {
		content, err := migrations.ReadFile(path.Join("migrations", file.Name()))
		if err != nil {
			return nil, err
		}
		version, err := goose.NumericComponent(file.Name())
		if err != nil {
			return nil, err
		}
		run := statements(d, typeNames[d].Replace(string(content)))
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: run}, nil))
	}
	options := []goose.ProviderOption{goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true)}
	name := goose.DialectSQLite3
	switch d {
	case postgres:
		name = goose.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	case mySQL:
		name = goose.DialectMySQL
		options = append(options, goose.WithSessionLocker(mySQLLocker{}))
	}
	return goose.NewProvider(name, db, nil, options...)
}

// duplicateIndex is MySQL's error for an index that exists. It has no CREATE INDEX IF NOT EXISTS, and a migration that was cut off begins again.
const duplicateIndex = 1061

// statements runs the statements of a file, one after the other.
func statements(d dialect, text string) func(context.Context, *sql.Tx) error {
	list := slices.DeleteFunc(strings.Split(text, ";\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
	return func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range list {
			_, err := tx.ExecContext(ctx, statement)
			var refused *mysql.MySQLError
			if d == mySQL && errors.As(err, &refused) && refused.Number == duplicateIndex {
				continue
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// mySQLLocker lets one program at a time change the tables. The server frees the lock if the connection ends.
type mySQLLocker struct{}

func (mySQLLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(CONCAT(DATABASE(), '.gpu_ledger'), 30)").Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errors.New("another program changes the tables")
	}
	return nil
}

func (mySQLLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT RELEASE_LOCK(CONCAT(DATABASE(), '.gpu_ledger'))")
	return err
}
