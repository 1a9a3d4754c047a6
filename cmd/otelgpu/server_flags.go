// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"flag"
	"os"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
)

// The environment variables. Secrets come from them or from files, never from the command line, which every user of a machine can read.
const (
	envServer   = "OTELGPU_SERVER"
	envToken    = "OTELGPU_TOKEN" //nolint:gosec // the name of a variable
	envUser     = "OTELGPU_USER"
	envPassword = "OTELGPU_PASSWORD" //nolint:gosec // the name of a variable
)

// serverFlags say which server to ask and how to authenticate.
type serverFlags struct {
	server, tokenFile, user, passwordFile, caFile string
	timeout                                       time.Duration
}

// registerServer adds the flag of the server. Its default in the help is not what the variable contains, which may be wrong or a secret.
func (f *serverFlags) registerServer(flags *flag.FlagSet) {
	flags.StringVar(&f.server, "server", "", "`URL` of the gpu_view exporter (default $"+envServer+" or "+client.DefaultServer+")")
}

// register adds the flags that do not name the server.
func (f *serverFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with a bearer token (or $"+envToken+")")
	flags.StringVar(&f.user, "user", "", "`NAME` for basic authentication (or $"+envUser+")")
	flags.StringVar(&f.passwordFile, "password-file", "", "`FILE` with the user's password (or $"+envPassword+")")
	flags.StringVar(&f.caFile, "ca-file", "", "`FILE` with the certificates of the authorities that are trusted to sign the server's, in PEM format")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "time limit for one answer")
}

// client returns the client that the flags and the environment describe.
func (f *serverFlags) client() (*client.Client, error) {
	if f.timeout <= 0 {
		return nil, usageErrorf("--timeout is %v; give a time above 0", f.timeout)
	}
	s := client.Settings{Server: cmp.Or(f.server, os.Getenv(envServer), client.DefaultServer), Timeout: f.timeout}
	var err error
	if s.Authorize, err = f.authorize(); err != nil {
		return nil, err
	}
	if f.caFile != "" {
		if s.CAs, err = client.CAs(f.caFile); err != nil {
			return nil, err
		}
	}
	c, err := client.New(s)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// isDefault reports whether neither a flag nor the environment names the server.
func (f *serverFlags) isDefault() bool { return f.server == "" && os.Getenv(envServer) == "" }

// authorize returns nil if there are no credentials. Flags come before the environment.
func (f *serverFlags) authorize() (client.Authorize, error) {
	user := cmp.Or(f.user, os.Getenv(envUser))
	switch {
	case f.tokenFile != "" && (f.user != "" || f.passwordFile != ""):
		return nil, usageError{errors.New("--token-file and --user exclude each other; give one of them")}
	case f.passwordFile != "" && user == "":
		return nil, usageError{errors.New("--password-file without a user; give --user")}
	case f.tokenFile != "":
		return client.Bearer(client.FromFile(f.tokenFile)), nil
	case user != "" && f.passwordFile != "":
		return client.Basic(user, client.FromFile(f.passwordFile)), nil
	case f.user != "" && os.Getenv(envPassword) == "":
		return nil, usageError{errors.New("--user without a password; give --password-file, or set " + envPassword)}
	case user != "" && os.Getenv(envPassword) != "":
		return client.Basic(user, client.Fixed(os.Getenv(envPassword), envPassword)), nil
	case os.Getenv(envToken) != "":
		return client.Bearer(client.Fixed(os.Getenv(envToken), envToken)), nil
	default:
		return nil, nil
	}
}
