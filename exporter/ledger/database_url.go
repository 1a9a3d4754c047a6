// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver sqlite
)

// dialect is the SQL that a database understands.
type dialect int

const (
	sqlite dialect = iota
	postgres
	mySQL
)

// opener opens the connections of a URL. It connects to nothing. The TLS configuration may be nil.
type opener struct {
	dialect dialect
	open    func(*tls.Config) (*sql.DB, error)
}

// parseURL returns how to open a database. No error has the URL in it, for it may have a password.
func parseURL(text string) (*opener, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch scheme {
	case "sqlite":
		return sqliteOpener(rest)
	case "postgres", "postgresql":
		return postgresOpener(text)
	case "mysql", "mariadb":
		return mySQLOpener(text)
	default:
		return nil, errors.New("must begin with sqlite:, postgres:// or mysql://")
	}
}

// sqliteOpener opens a file. A writer waits for others; what is committed survives a power failure.
func sqliteOpener(path string) (*opener, error) {
	path = strings.TrimPrefix(path, "//")
	if path == "" || strings.Contains(path, "?") {
		return nil, errors.New("must be sqlite: and the path of a file, without parameters")
	}
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"}, "_txlock": {"immediate"},
	}.Encode()}).String()
	return &opener{sqlite, func(*tls.Config) (*sql.DB, error) {
		db, err := sql.Open("sqlite", name)
		if err == nil && path == ":memory:" {
			db.SetMaxOpenConns(1) // each connection would have a database of its own
		}
		return db, err
	}}, nil
}

func postgresOpener(text string) (*opener, error) {
	config, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, err // pgx leaves the password out
	}
	return &opener{postgres, func(secure *tls.Config) (*sql.DB, error) {
		if secure != nil {
			secure = secure.Clone()
			if secure.ServerName == "" {
				secure.ServerName = config.Host
			}
			config.TLSConfig, config.Fallbacks = secure, nil
		}
		return stdlib.OpenDB(*config, stdlib.OptionAfterConnect(withoutJIT)), nil
	}}, nil
}

// withoutJIT saves a report seconds in which PostgreSQL would compile it. A server that has no such setting is used as it is.
func withoutJIT(ctx context.Context, conn *pgx.Conn) error {
	_, _ = conn.Exec(ctx, "SET jit = off")
	return nil
}

func mySQLOpener(text string) (*opener, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return nil, errors.New("must be mysql://user:password@host:port/database")
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "3306")
	}
	config, err := mysql.ParseDSN(fmt.Sprintf("tcp(%s)/%s?%s", address, strings.Trim(u.Path, "/"), u.RawQuery))
	if err != nil {
		return nil, err
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	config.Params["sql_mode"] = "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'" // never cut a value silently
	return &opener{mySQL, func(secure *tls.Config) (*sql.DB, error) {
		if secure != nil {
			config.TLS = secure.Clone()
			if config.TLS.ServerName == "" {
				config.TLS.ServerName = u.Hostname()
			}
		}
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(connector), nil
	}}, nil
}
