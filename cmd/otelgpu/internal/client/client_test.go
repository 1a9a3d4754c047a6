// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve returns a client of a handler.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newClient(t, Settings{Server: server.URL})
}

// newClient returns a client that waits long for an answer unless the test says otherwise.
func newClient(t *testing.T, s Settings) *Client {
	t.Helper()
	s.Timeout = cmp.Or(s.Timeout, 5*time.Minute)
	c, err := New(s)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func send(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Credentials go to the server that was named, and to no other.
func TestRedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other server was asked") }))
	t.Cleanup(other.Close)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	_, err := c.List(t.Context(), Nodes, nil, 1)
	require.ErrorContains(t, err, "redirects to another address, and otelgpu does not follow redirects; give the final address with --server")
}

func TestNoListeners(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	c := newClient(t, Settings{Server: "http://" + address})
	_, err = c.List(t.Context(), Nodes, nil, 1)
	require.EqualError(t, err, "http://"+address+": connection refused; start a collector with the gpu_view exporter there, or give another address with --server")
	require.Error(t, c.Stream(t.Context(), func() {}))
}

// A server that is slow at any point of its answer is given up.
func TestSlowServer(t *testing.T) {
	for name, begin := range map[string]string{"no header": "", "half an answer": `{"items":[`} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				<-done
			}))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(done) })
			c := newClient(t, Settings{Server: server.URL, Timeout: 50 * time.Millisecond})
			_, err := c.List(t.Context(), Nodes, nil, 1)
			require.ErrorContains(t, err, "did not answer within 50ms; try again later")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = c.List(ctx, Nodes, nil, 1)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

// An endless answer ends at a bound.
func TestLongAnswer(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":["`)
		block := strings.Repeat("x", 1<<20)
		for range maxBytes>>20 + 64 {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	})
	_, err := c.List(t.Context(), Nodes, nil, 1)
	require.ErrorContains(t, err, "answered with more than 64 MiB; ask for less")
}

func TestServerAddress(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:9410":            "http://127.0.0.1:9410",
		"gpus.example.com":          "http://gpus.example.com",
		"https://gpus.example.com/": "https://gpus.example.com",
		"https://example.com/gpus/": "https://example.com/gpus",
	} {
		assert.Equal(t, want, newClient(t, Settings{Server: address}).Server())
	}
	for address, want := range map[string]string{
		"":                        "is not a URL; give it as",
		"http://":                 "is not a URL",
		"http://a:b@c":            "contains a user or a password; give them with --user and --password-file",
		"http://a:secret%zz@host": "is not a URL",
		"ftp://host":              `is "ftp"`,
		"http://host?token=x":     "contains a query or a fragment",
	} {
		_, err := New(Settings{Server: address})
		require.ErrorContains(t, err, want, address)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(send(200, "application/json", `{"items":[]}`))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	_, err := newClient(t, Settings{Server: server.URL}).List(t.Context(), Nodes, nil, 1)
	require.ErrorContains(t, err, "give the certificate of the authority that signed the server's with --ca-file")
	_, err = newClient(t, Settings{Server: strings.Replace(server.URL, "https", "http", 1)}).List(t.Context(), Nodes, nil, 1)
	require.Error(t, err)

	pool, err := CAs(write(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))))
	require.NoError(t, err)
	_, err = newClient(t, Settings{Server: server.URL, CAs: pool}).List(t.Context(), Nodes, nil, 1)
	require.NoError(t, err)
	_, err = newClient(t, Settings{Server: strings.Replace(server.URL, "127.0.0.1", "localhost", 1), CAs: pool}).List(t.Context(), Nodes, nil, 1)
	require.ErrorContains(t, err, "use a name that is in the server's certificate")

	_, err = CAs(write(t, "no certificate"))
	require.ErrorContains(t, err, "contains no certificate in PEM form")
}
