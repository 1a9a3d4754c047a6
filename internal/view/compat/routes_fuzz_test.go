// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// FuzzRequests asks each route with any query, and with any name of a node and a GPU in the path. Every answer is JSON and none is 500.
func FuzzRequests(f *testing.F) {
	f.Add("form=a&cluster_id=prod&node_name=n1", "n1", "application/vnd.gpu.a+json")
	f.Add("node=n1&cluster=-", "0", "*/*;q=0.1")
	f.Add("cluster=%ff&node=", "0000:10:00.0", ",;=")
	f.Add("form=a;form=b&&%", "..", "")
	reader := viewtest.NewReader(viewtest.Snapshot())
	h := api.New(reader, api.Settings{More: Routes(reader)})
	f.Cleanup(h.Close)
	f.Fuzz(func(t *testing.T, query, name, accept string) {
		name = url.PathEscape(name)
		for _, path := range []string{
			"/api/v1/gpu/nodes", "/api/v1/gpu/nodes/" + name, "/api/v1/gpu/nodes/prod/" + name, "/api/v1/gpu/processes", "/api/v1/gpu/summary",
			"/gpu/info", "/gpu/metrics", "/gpu/metrics/" + name, "/api/v1/monitoring/gpu-metrics",
		} {
			u, err := url.Parse(path)
			if err != nil {
				continue
			}
			u.RawQuery = query
			w := httptest.NewRecorder()
			h.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"Accept": {accept}}})
			if w.Code >= http.StatusMultipleChoices && w.Code < http.StatusBadRequest {
				continue // the path is not clean
			}
			if w.Code == http.StatusInternalServerError || !json.Valid(w.Body.Bytes()) && w.Header().Get("Content-Type")[:8] != "text/csv" {
				t.Fatalf("%s?%s: %d %s", path, query, w.Code, w.Body)
			}
		}
	})
}
