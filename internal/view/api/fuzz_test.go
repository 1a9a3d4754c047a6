// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// FuzzRequests asks each path with any query and Accept: whatever comes is answered by what the API promises, and never by 500.
func FuzzRequests(f *testing.F) {
	h := sampleHandler()
	// The stream ends at once.
	h.Close()
	var paths []string
	for _, r := range h.routes() {
		paths = append(paths, strings.NewReplacer("{cluster}", "prod", "{node}", "n2", "{id}", "GPU-n1-0").Replace(r.Path))
	}
	for i := range paths {
		f.Add(uint8(i), "cluster=prod&limit=1&sort=-name", "", "text/csv")
		f.Add(uint8(i), "form=a", "GPU-n1-0", "*/*;q=0.1")
	}
	for _, query := range []string{
		"cluster=-&node=n1", "cluster_id=gone", "gpu=0000:10:00.0&node=n2", "gpu=1&node=n2", "by=workload&limit=2", "since=15m&metric=hw.gpu.utilization",
		"since=2026-11-22T12:00:00Z&severity=WARN", "cursor=eyJhIjp7ImsiOiIifX0", "limit=-1", "limit=99999999999999999999", "sort=", "%", "a;b", "since=18446744073709551615",
		"cursor=eyJzIjoiLW5hbWUiLCJhIjp7Im4iOjFlMzA4LCJrIjoiXHUwMDAwIn19&sort=-name", "node=%00", "since=9999999h",
	} {
		f.Add(uint8(0), query, "n1/%2F..", "application/vnd.gpu.a+json, text/csv;q=0.9")
		f.Add(uint8(7), query, "", "application/json")
	}
	f.Fuzz(func(t *testing.T, route uint8, query, name, accept string) {
		path := paths[int(route)%len(paths)]
		if name != "" {
			path = strings.NewReplacer("n2", url.PathEscape(name), "GPU-n1-0", url.PathEscape(name)).Replace(path)
		}
		u := &url.URL{RawQuery: query}
		var err error
		if u.Path, err = url.PathUnescape(path); err != nil {
			t.Skip()
		}
		u.RawPath = path
		r := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"Accept": {accept}}}).WithContext(t.Context())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect { // an unclean path
			return
		}
		checkAnswer(t, w)
	})
}

func checkAnswer(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	mediaType, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil {
		t.Fatalf("%d: content type %q: %v", w.Code, w.Header().Get("Content-Type"), err)
	}
	if w.Code == http.StatusOK {
		if strings.HasSuffix(mediaType, "json") && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("no JSON: %s", w.Body)
		}
		return
	}
	var p view.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || mediaType != "application/problem+json" {
		t.Fatalf("%d: %s: %v: %s", w.Code, mediaType, err, w.Body)
	}
	if p.Status != w.Code || p.Title == "" || p.Detail == "" || p.Remedy == "" {
		t.Fatalf("%d: an incomplete problem: %+v", w.Code, p)
	}
	if !slices.Contains([]int{400, 404, 409, 414, 503}, w.Code) {
		t.Fatalf("status %d: %+v", w.Code, p)
	}
}

// FuzzCursor pages with any cursor: entries are in order, and none is there twice.
func FuzzCursor(f *testing.F) {
	f.Add(`{"a":{"k":""}}`, uint8(0))
	f.Add(`{"s":"-memory_bytes","a":{"n":1.5,"k":"x"}}`, uint8(1))
	f.Add(`{"s":"name","a":{"m":true,"k":"\u0000"}}`, uint8(2))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		sort := []string{"", "-memory_bytes", "name"}[int(kind)%3]
		c, err := parseCursor(url.QueryEscape(text), sort)
		if err == nil && c.Sort != sort {
			t.Fatal("a cursor of another order")
		}
		var after cursor
		if json.Unmarshal([]byte(text), &after) != nil {
			return
		}
		after.Sort = sort
		again, err := parseCursor(after.encode(), sort)
		if err != nil || again.After != after.After {
			t.Fatalf("%+v became %+v: %v", after, again, err)
		}
	})
}
