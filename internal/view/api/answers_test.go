// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// get asks a handler of the sample fleet. Headers are pairs of name and value.
func get(t *testing.T, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, New(viewtest.NewReader(viewtest.Snapshot()), Settings{}), http.MethodGet, target, headers...)
}

func ask(t *testing.T, h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var v T
	decoder := json.NewDecoder(w.Body)
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&v))
	return v
}

// Each request has the problem that the rules of clusters, nodes, GPUs and parameters demand.
func TestProblems(t *testing.T) {
	for _, test := range []struct {
		target     string
		status     int
		detail     string // a part of it
		reasons    []string
		candidates []string
	}{
		{"/api/v1/gpu/nodes?cluster=no", 404, "no", nil, nil},
		{"/api/v1/gpu/nodes/n9", 404, "n9", nil, nil},
		{"/api/v1/gpu/nodes/lab/n2", 404, "n2", nil, nil},
		{"/api/v1/gpu/nodes?cluster=cpu", 400, "cpu", nil, nil},
		{"/api/v1/gpu/nodes?cluster_id=gone", 400, "gone", []string{"gone: kubernetes_exec: timeout"}, nil},
		{"/api/v1/gpu/summary?cluster=gone", 400, "gone", []string{"gone: kubernetes_exec: timeout"}, nil},
		{"/api/v1/gpu/nodes/n1", 409, "n1", nil, []string{"lab/n1", "prod/n1"}},
		{"/api/v1/gpu/processes?node=n1", 409, "n1", nil, []string{"lab/n1", "prod/n1"}},
		{"/api/v1/gpu/metrics?cluster=prod&node=unread", 503, "no GPU", []string{"prod/unread: kubernetes_exec: timeout"}, nil},
		{"/api/v1/gpu/metrics/0?cluster=prod&node=unread", 503, "no GPU", []string{"prod/unread: kubernetes_exec: timeout"}, nil},
		{"/api/v1/gpu/metrics/GPU-none", 404, "GPU-none", nil, nil},
		{"/api/v1/gpu/metrics/0?cluster=prod", 409, "0", nil, []string{"prod/n1", "prod/n2"}},
		{"/api/v1/gpu/processes?gpu=GPU-none", 404, "GPU-none", nil, nil},
		{"/api/v1/gpu/processes?limit=0", 400, "limit", nil, nil},
		{"/api/v1/gpu/processes?limit=1001", 400, "limit", nil, nil},
		{"/api/v1/gpu/processes?limit=10&limit=11", 400, "limit", nil, nil},
		{"/api/v1/gpu/processes?cluster=prod&cluster_id=prod", 400, "cluster", nil, nil},
		{"/api/v1/gpu/processes?sort=colour", 400, "sort", nil, nil},
		{"/api/v1/gpu/processes?cursor=%21", 400, "cursor", nil, nil},
		{"/api/v1/gpu/processes?cursor=bnVsbA&sort=pid", 400, "cursor", nil, nil},
		{"/api/v1/gpu/processes?colour=red", 400, "colour", nil, nil},
		{"/api/v1/gpu/processes?node=", 400, "node", nil, nil},
		{"/api/v1/gpu/processes?node=%ff", 400, "node", nil, nil},
		{"/api/v1/gpu/processes?node=%zz", 400, "%zz", nil, nil},
		{"/api/v1/gpu/summary?by=colour", 400, "by", nil, nil},
		{"/api/v1/gpu/tiles?since=-1", 400, "since", nil, nil},
		{"/healthz?x=1", 400, "x", nil, nil},
		{"/api/v1/gpu/no", 404, "/api/v1/gpu/no", nil, nil},
		{"/api/v1/gpu/nodes/", 404, "/api/v1/gpu/nodes/", nil, nil},
	} {
		t.Run(test.target, func(t *testing.T) {
			w := get(t, test.target)
			assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
			assert.Empty(t, w.Header().Get("ETag"))
			var p view.Problem
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
			assert.Equal(t, test.status, w.Code, p)
			assert.Equal(t, test.status, p.Status)
			assert.Contains(t, p.Detail, test.detail)
			assert.NotEmpty(t, p.Title)
			assert.NotEmpty(t, p.Remedy)
			assert.Equal(t, test.reasons, p.Reasons)
			assert.Equal(t, test.candidates, p.Nodes)
		})
	}
}

func TestEmptyIsNoProblem(t *testing.T) {
	assert.Empty(t, decode[view.Node](t, get(t, "/api/v1/gpu/nodes/prod/empty")).GPUs)
	assert.Empty(t, decode[view.List[*view.Process]](t, get(t, "/api/v1/gpu/processes?node=empty")).Items)
	assert.Empty(t, decode[view.Metrics](t, get(t, "/api/v1/gpu/metrics?node=empty")).GPUs)
	assert.Contains(t, get(t, "/api/v1/gpu/processes?node=empty").Body.String(), `"items":[]`)
	assert.Contains(t, get(t, "/api/v1/gpu/metrics?node=empty").Body.String(), `"gpus":[]`)
}

// Names may have any character. In a path they are escaped.
func TestEscapedNames(t *testing.T) {
	s := viewtest.Snapshot()
	strange := `a/b ?&#%2F<"ü..`
	s.Nodes[4].Name = strange
	for _, g := range s.Nodes[4].GPUs {
		g.Node = strange
	}
	s.Nodes[4].GPUs[3].ID = strange + "/0000:11:00.0"
	s.Nodes[4].GPUs[2].ID = "GPU-n2-0/1/0"
	h := New(viewtest.NewReader(s), Settings{})
	const escaped = "a%2Fb%20%3F%26%23%252F%3C%22%C3%BC.."
	for target, want := range map[string]string{
		"/api/v1/gpu/metrics/" + escaped + "%2F0000%3A11%3A00.0": strange + "/0000:11:00.0",
		"/api/v1/gpu/metrics/GPU-n2-0%2F1%2F0":                   "GPU-n2-0/1/0",
		"/api/v1/gpu/metrics/GPU-n2-0%2F1%2F0?node=" + escaped:   "GPU-n2-0/1/0",
	} {
		assert.Equal(t, want, decode[view.GPUMetrics](t, ask(t, h, http.MethodGet, target)).ID, target)
	}
	assert.Equal(t, strange, decode[view.Node](t, ask(t, h, http.MethodGet, "/api/v1/gpu/nodes/"+escaped)).Name)
	assert.Equal(t, strange, decode[view.Node](t, ask(t, h, http.MethodGet, "/api/v1/gpu/nodes/prod/"+escaped)).Name)
	assert.Equal(t, 404, ask(t, h, http.MethodGet, "/api/v1/gpu/metrics/GPU-n2-0/1/0").Code)
}

func TestMethods(t *testing.T) {
	h := New(viewtest.NewReader(viewtest.Snapshot()), Settings{})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, "BREW"} {
		w := ask(t, h, method, "/api/v1/gpu/nodes")
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	}
	server := httptest.NewServer(h)
	defer server.Close()
	answer, err := http.Head(server.URL + "/api/v1/gpu/nodes")
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	assert.NotEmpty(t, answer.Header.Get("ETag"))
}

func TestEntityTag(t *testing.T) {
	reader := viewtest.NewReader(viewtest.Snapshot())
	h := New(reader, Settings{})
	const target = "/api/v1/gpu/metrics?cluster=prod"
	tag := ask(t, h, http.MethodGet, target).Header().Get("ETag")
	assert.Regexp(t, `^W/"[0-9a-f-]+"$`, tag)

	w := ask(t, h, http.MethodGet, target, "If-None-Match", `"x", `+tag)
	assert.Equal(t, http.StatusNotModified, w.Code)
	assert.Equal(t, tag, w.Header().Get("ETag"))
	assert.Empty(t, w.Body.String())

	assert.Equal(t, 200, ask(t, h, http.MethodGet, target+"&limit=2", "If-None-Match", tag).Code, "of another request")
	assert.Equal(t, 200, ask(t, h, http.MethodGet, target, "If-None-Match", tag, "Accept", "text/csv").Code, "of another form")
	assert.Equal(t, 200, ask(t, New(reader, Settings{}), http.MethodGet, target, "If-None-Match", tag).Code, "of an exporter before")
	next := viewtest.Snapshot()
	next.Generation++
	reader.Set(next)
	assert.Equal(t, 200, ask(t, h, http.MethodGet, target, "If-None-Match", tag).Code, "after a change")
}
