// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package client reads the API of the gpu_view exporter. Every read has a bound: on its time, its bytes and its redirects.
//
// Begin with [New]. auth.go has how a request is authorised, failure.go the errors, page.go lists, stream.go changes.
package client // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// DefaultServer is the address of gpu_view unless it is configured otherwise.
const DefaultServer = "http://127.0.0.1:9410"

const (
	// maxBytes is the longest answer that is read.
	maxBytes = 64 << 20
	// maxProblemBytes is the longest error that is read.
	maxProblemBytes = 64 << 10
	// defaultTimeout is time limit for one answer.
	defaultTimeout = 10 * time.Second
)

// Settings are the address of the server and how to connect to it.
type Settings struct {
	Server    string         // the URL; a path before /api is kept
	Authorize Authorize      // nil: requests carry no credentials
	CAs       *x509.CertPool // who may sign the server's certificate; nil: those that the system trusts
	Timeout   time.Duration  // for one answer; 0: 10 s
}

// Client reads from one server. It is safe for concurrent use.
type Client struct {
	server    *url.URL
	authorize Authorize
	http      *http.Client
	timeout   time.Duration
}

// New returns a client. It fails if the URL is invalid.
func New(s Settings) (*Client, error) {
	server, err := parseServer(s.Server)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: s.CAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   5 * time.Second,
		MaxConnsPerHost:       4,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
		ResponseHeaderTimeout: 0, // the context bounds it
	}
	c := &Client{server: server, authorize: s.Authorize, timeout: s.Timeout}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	// Credentials go to the server that was named, and to no other.
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// parseServer never repeats what it cannot parse: it may contain a password.
func parseServer(text string) (*url.URL, error) {
	const form = "; give it as http://HOST:PORT or https://HOST:PORT"
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return nil, errors.New("the server's address is not a URL" + form)
	case u.User != nil:
		return nil, errors.New("the server's address contains a user or a password; give them with --user and --password-file")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the scheme of the server's address is %q%s", u.Scheme, form)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the server's address contains a query or a fragment" + form)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// Server returns the server's address.
func (c *Client) Server() string { return c.server.String() }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// JSON reads one answer into a value.
func (c *Client) JSON(ctx context.Context, path string, query url.Values, into any) error {
	_, body, err := c.read(ctx, path, query, route.OwnFormType+", "+route.JSON+";q=0.9")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return c.notAPI(fmt.Sprintf("an answer that is not the API's JSON (%v)", err))
	}
	return nil
}

// read reads one answer.
func (c *Client) read(ctx context.Context, path string, query url.Values, accept string) (http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.get(ctx, path, query, accept)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, nil, c.broken(err)
	case len(body) > maxBytes:
		return nil, nil, &Failure{What: fmt.Sprintf("%s answered with more than %d MiB", c.server.Host, maxBytes>>20), Do: "ask for less, with --node or --limit"}
	}
	return answer.Header, body, nil
}

// get sends one request. An answer other than 200 is an error.
func (c *Client) get(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	u := c.server.JoinPath(path)
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make a request of %s: %w", path, err)
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "otelgpu")
	if c.authorize != nil {
		if err := c.authorize(request); err != nil {
			return nil, err
		}
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if answer.StatusCode != http.StatusOK {
		defer func() { _ = answer.Body.Close() }()
		return nil, c.refused(answer)
	}
	return answer, nil
}
