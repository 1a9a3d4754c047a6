// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
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

// A failure says what happened and what to do.
func TestFailures(t *testing.T) {
	const html = "<html>not here</html>"
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"items":[`)
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
		status  int
	}{
		"no JSON":         {send(200, "text/html", html), "that is not the API's JSON", 0},
		"no list":         {send(200, "application/json", `{"hello":1}`), "is not a list of the API; check that --server is the address of the gpu_view exporter", 0},
		"null":            {send(200, "application/json", `null`), "is not a list of the API", 0},
		"another type":    {send(200, "application/json", `{"items":{"a":1}}`), "that is not the API's JSON", 0},
		"half an answer":  {half, "ended early: unexpected EOF; try again", 0},
		"nothing":         {send(200, "application/json", ""), "that is not the API's JSON", 0},
		"401":             {send(401, "text/plain", "no"), "asks for credentials, or refuses those that were sent; give --token-file, or --user and --password-file", 401},
		"403":             {send(403, "text/plain", "no"), "answered Forbidden; use credentials that may read", 403},
		"404":             {send(404, "text/html", html), "answered Not Found; check that --server is the address of the gpu_view exporter", 404},
		"502":             {send(502, "text/html", html), "answered Bad Gateway; try again later", 502},
		"418":             {send(418, "text/html", html), "answered 418; check", 418},
		"problem of none": {send(404, "application/problem+json", html), "answered Not Found; check", 404},
		"empty problem":   {send(404, "application/problem+json", "{}"), "answered Not Found; check", 404},
		"problem": {
			send(404, "application/problem+json", `{"title":"Unknown node","detail":"n9","remedy":"Look in /api/v1/gpu/nodes."}`),
			"Unknown node: n9; Look in /api/v1/gpu/nodes.", 404,
		},
		"problem with candidates": {
			send(409, "application/problem+json; charset=utf-8", `{"title":"Several have the name","detail":"n1","remedy":"Name one.","candidates":["lab/n1","prod/n1"]}`),
			"Several have the name: n1: lab/n1, prod/n1; Name one.", 409,
		},
		"problem with reasons": {
			send(503, "application/problem+json", `{"title":"No GPU can be read","remedy":"Look at the reasons.","reasons":["nvml: driver_not_loaded"]}`),
			"No GPU can be read (nvml: driver_not_loaded); Look at the reasons.", 503,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, tc.handler).List(t.Context(), Nodes, nil, 10)
			require.ErrorContains(t, err, tc.want)
			var failure *Failure
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, tc.status, failure.Status)
		})
	}
}

// Credentials go to the server that was named, and to no other.
func TestRedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other server was asked") }))
	t.Cleanup(other.Close)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	_, err := c.List(t.Context(), Nodes, nil, 1)
	require.ErrorContains(t, err, "redirects to another address, and otelgpu does not follow; give the final address with --server")
}

func TestNobodyListens(t *testing.T) {
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
		for range mostBytes>>20 + 64 {
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
		"ftp://host":              `has the scheme "ftp"`,
		"http://host?token=x":     "has a query or a fragment",
	} {
		_, err := New(Settings{Server: address})
		require.ErrorContains(t, err, want, address)
		assert.NotContains(t, err.Error(), "secret")
	}
}

// pagesOf is a server of a list of numbers in pages. It checks that a page is never larger than was asked for.
func pagesOf(t *testing.T, n int, route string) *Client {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, route, r.URL.Path)
		assert.Equal(t, "prod", r.URL.Query().Get("cluster"))
		var first, limit int
		_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &first)
		_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		end := min(n, first+limit)
		if r.Header.Get("Accept") == "text/csv" {
			w.Header().Set("Content-Type", "text/csv; charset=utf-8")
			w.Header().Set("X-Total-Count", strconv.Itoa(n))
			if end < n {
				w.Header().Set("Link", fmt.Sprintf(`<%s?cluster=prod&cursor=%d>; rel="next"`, route, end))
			}
			_, _ = io.WriteString(w, "number\n")
			for i := first; i < end; i++ {
				_, _ = fmt.Fprintln(w, i)
			}
			return
		}
		answer := map[string]any{"time": "2026-11-22T12:00:00Z", "total": n, "next": nil}
		if end < n {
			answer["next"] = strconv.Itoa(end)
		}
		items := []int{}
		for i := first; i < end; i++ {
			items = append(items, i)
		}
		answer["items"], answer["gpus"] = items, items
		if route == GPUs {
			delete(answer, "items")
		}
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	})
}

func TestPages(t *testing.T) {
	query := url.Values{"cluster": {"prod"}}
	for _, tc := range []struct{ n, limit, want int }{{0, 0, 0}, {5, 0, 5}, {200, 0, 200}, {1001, 0, 1001}, {1001, 450, 450}, {1001, 1, 1}, {3, 100, 3}} {
		for _, route := range []string{Nodes, GPUs} {
			entries, err := pagesOf(t, tc.n, route).List(t.Context(), route, query, tc.limit)
			require.NoError(t, err)
			numbers, err := Decode[int](entries.Items)
			require.NoError(t, err)
			require.Len(t, numbers, tc.want)
			for i, n := range numbers {
				require.Equal(t, i, *n, "in order, none twice")
			}
			assert.Equal(t, tc.n, entries.Total)
		}
		lines, total, err := pagesOf(t, tc.n, Nodes).CSV(t.Context(), Nodes, query, tc.limit)
		require.NoError(t, err)
		require.Len(t, lines, tc.want+1)
		assert.Equal(t, []string{"number"}, lines[0])
		for i, line := range lines[1:] {
			require.Equal(t, []string{strconv.Itoa(i)}, line)
		}
		assert.Equal(t, tc.n, total)
	}
	assert.Equal(t, url.Values{"cluster": {"prod"}}, query, "the caller's")
}

// A server whose list does not go on is given up.
func TestListWithoutEnd(t *testing.T) {
	_, err := serve(t, send(200, "application/json", `{"items":[],"next":"again"}`)).List(t.Context(), Nodes, nil, 0)
	require.ErrorContains(t, err, "a list that has no end")
}

func TestCSVThatIsNone(t *testing.T) {
	for body, kind := range map[string]string{`{"items":[]}`: "application/json", "a\n\"b": "text/csv", "": "text/csv", "a,b\n1\n": "text/csv"} {
		_, _, err := serve(t, send(200, kind, body)).CSV(t.Context(), Nodes, nil, 0)
		require.ErrorContains(t, err, "check that --server", body)
	}
}
