// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// maxSecretBytes is the longest file of a secret or of certificates that is read.
const maxSecretBytes = 1 << 20

// Authorize adds credentials to a request.
type Authorize func(*http.Request) error

// Secret returns a secret. Its errors never contain it.
type Secret func() (string, error)

// FromFile reads the secret for each request, because tokens of Kubernetes are replaced.
func FromFile(path string) Secret {
	return func() (string, error) {
		data, err := readFile(path)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		return valid(string(bytes.TrimSpace(data)), path)
	}
}

// Fixed is a known secret, with the name of its origin.
func Fixed(secret, origin string) Secret {
	return func() (string, error) { return valid(strings.TrimSpace(secret), origin) }
}

func valid(secret, origin string) (string, error) {
	if secret == "" {
		return "", fmt.Errorf("the secret in %s is empty; write the token or the password into it", origin)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("the secret in %s contains several lines or control characters; write only the token or the password into it", origin)
	}
	return secret, nil
}

// Bearer sends a token.
func Bearer(token Secret) Authorize {
	return func(r *http.Request) error {
		secret, err := token()
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		return err
	}
}

// Basic sends a user's name and password.
func Basic(user string, password Secret) Authorize {
	return func(r *http.Request) error {
		secret, err := password()
		if err == nil {
			r.SetBasicAuth(user, secret)
		}
		return err
	}
}

// CAs reads certificates in PEM form.
func CAs(path string) (*x509.CertPool, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s contains no certificate in PEM format; give the file of the authority that signed the server's", path)
	}
	return pool, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	if err == nil && len(data) > maxSecretBytes {
		err = errors.New(path + " is longer than 1 MiB; name another file")
	}
	return data, err
}
