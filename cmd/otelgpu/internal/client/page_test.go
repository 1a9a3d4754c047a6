// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pagesOf is a server of a list of numbers in pages. It checks that a page is never larger than requested.
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
	require.ErrorContains(t, err, "a list without an end")
}

// Whatever a server sends, an answer is a list or a failure.
func FuzzList(f *testing.F) {
	for _, seed := range []string{`{"items":[{"name":"n1"}],"total":1,"next":null}`, `{"gpus":[null,1]}`, `[]`, `{"items":[{}],"next":"x"}`} {
		f.Add([]byte(seed))
	}
	c := newFuzzClient(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		c.http.Transport = answers(body)
		for _, route := range []string{Nodes, GPUs} {
			entries, err := c.List(t.Context(), route, nil, 5)
			if err == nil {
				assert.LessOrEqual(t, len(entries.Items), 5)
				_, _ = Decode[map[string]any](entries.Items)
			}
		}
		if lines, _, err := c.CSV(t.Context(), Nodes, nil, 5); err == nil {
			assert.LessOrEqual(t, len(lines), 6)
		}
		_ = problem(body, 404)
	})
}

func newFuzzClient(f *testing.F) *Client {
	f.Helper()
	c, err := New(Settings{Server: DefaultServer})
	require.NoError(f, err)
	return c
}

// answers sends the same to every request.
type answers []byte

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {r.Header.Get("Accept")}},
		Body: io.NopCloser(strings.NewReader(string(a))),
	}, nil
}
