// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// get asks a handler that serves the API and the forms of a snapshot.
func get(t *testing.T, s *view.Snapshot, target string, accept ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, s, http.MethodGet, target, accept...)
}

func ask(t *testing.T, s *view.Snapshot, method, target string, accept ...string) *httptest.ResponseRecorder {
	t.Helper()
	return askWith(t, s, "", method, target, accept...)
}

// askWith asks a handler whose default form is given.
func askWith(t *testing.T, s *view.Snapshot, form, method, target string, accept ...string) *httptest.ResponseRecorder {
	t.Helper()
	reader := viewtest.NewReader(s)
	h := api.New(reader, api.Settings{More: Routes(reader), DefaultForm: form})
	t.Cleanup(h.Close)
	r := httptest.NewRequest(method, target, nil)
	for _, value := range accept {
		r.Header.Add("Accept", value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// body returns an answer of status 200.
func body(t *testing.T, w *httptest.ResponseRecorder) json.RawMessage {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return w.Body.Bytes()
}

func TestRoutesOfFormA(t *testing.T) {
	s := viewtest.Snapshot()
	requireDocument(t, "form_a_nodes.json", body(t, get(t, s, "/api/v1/gpu/nodes?form=a")))
	requireDocument(t, "form_a_prod_n2.json", body(t, get(t, s, "/api/v1/gpu/nodes/n2?form=a")))
	requireDocument(t, "form_a_prod_n2.json", body(t, get(t, s, "/api/v1/gpu/nodes/prod/n2?form=a")))
	for _, target := range []string{"cluster_id=prod&node_name=n2", "cluster=prod&node=n2"} {
		var nodes []json.RawMessage
		require.NoError(t, json.Unmarshal(body(t, get(t, s, "/api/v1/gpu/nodes?form=a&"+target)), &nodes))
		require.Len(t, nodes, 1)
		requireDocument(t, "form_a_prod_n2.json", nodes[0])
	}
	requireDocument(t, "form_a_processes.json", body(t, get(t, s, "/api/v1/gpu/processes?form=a")))
	requireDocument(t, "form_a_processes.json", body(t, get(t, s, "/api/v1/gpu/processes?form=a&cluster_id=prod&node_name=n1")))
	requireJSON(t, `[]`, body(t, get(t, s, "/api/v1/gpu/processes?form=a&cluster_id=lab")))
	requireDocument(t, "form_a_summary.json", body(t, get(t, s, "/api/v1/gpu/summary?form=a")))
	requireDocument(t, "form_a_summary_prod.json", body(t, get(t, s, "/api/v1/gpu/summary?form=a&cluster_id=prod")))
	requireJSON(t, `[]`, body(t, get(t, &view.Snapshot{}, "/api/v1/gpu/nodes?form=a")))
}

// TestSelectionOfFormA: the API's own format is used unless a request names form A.
func TestSelectionOfFormA(t *testing.T) {
	s := viewtest.Snapshot()
	for _, path := range []string{
		"/api/v1/gpu/nodes", "/api/v1/gpu/nodes/n2", "/api/v1/gpu/nodes/prod/n2", "/api/v1/gpu/processes", "/api/v1/gpu/summary",
	} {
		plain := get(t, s, path)
		assert.Contains(t, plain.Header().Values("Vary"), "Accept")
		byQuery := get(t, s, path+"?form=a")
		byAccept := get(t, s, path, "application/vnd.gpu.a+json")
		assert.NotEqual(t, string(body(t, plain)), string(body(t, byQuery)), path)
		assert.JSONEq(t, string(body(t, byQuery)), string(body(t, byAccept)), path)
		assert.Equal(t, "application/json", byQuery.Header().Get("Content-Type"), path)
		assert.Equal(t, "application/vnd.gpu.a+json", byAccept.Header().Get("Content-Type"), path)
		assert.Contains(t, byAccept.Header().Values("Vary"), "Accept", path)

		for _, accept := range []string{"*/*", "application/json", "text/html, application/*;q=0.5", "application/vnd.gpu.a+json;q=0"} {
			assert.JSONEq(t, string(body(t, plain)), string(body(t, get(t, s, path, accept))), "%s %s", path, accept)
		}
		assert.Equal(t, http.StatusBadRequest, get(t, s, path+"?form=z").Code, path)
		assert.Equal(t, http.StatusMethodNotAllowed, ask(t, s, http.MethodPost, path+"?form=a").Code, path)
	}
}

// TestDefaultForm: a setting makes form A the default. The API's own form is still selected by the query and by Accept, and CSV is its own.
func TestDefaultForm(t *testing.T) {
	s := viewtest.Snapshot()
	ask := func(target string, accept ...string) *httptest.ResponseRecorder {
		return askWith(t, s, FormA, http.MethodGet, target, accept...)
	}
	for _, path := range []string{
		"/api/v1/gpu/nodes", "/api/v1/gpu/nodes/n2", "/api/v1/gpu/nodes/prod/n2", "/api/v1/gpu/processes", "/api/v1/gpu/summary",
	} {
		own, a := string(body(t, get(t, s, path))), string(body(t, get(t, s, path+"?form=a")))
		for _, accept := range []string{"", "*/*", "application/json"} {
			w := ask(path, accept)
			assert.JSONEq(t, a, string(body(t, w)), path)
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"), path)
		}
		assert.JSONEq(t, own, string(body(t, ask(path+"?form=own"))), path)
		assert.JSONEq(t, own, string(body(t, ask(path, "application/vnd.gpu.own+json, application/json;q=0.9"))), path)
		assert.JSONEq(t, own, string(body(t, get(t, s, path+"?form=own"))), path)
	}
	assert.Equal(t, "text/csv; charset=utf-8; header=present", ask("/api/v1/gpu/processes", "text/csv").Header().Get("Content-Type"))
	assert.Equal(t, http.StatusOK, ask("/api/v1/gpu/metrics", "application/json").Code, "a path without form A")
}

func TestRoutesOfFormB(t *testing.T) {
	s := viewtest.Snapshot()
	requireDocument(t, "form_b_metrics.json", body(t, get(t, s, "/gpu/metrics?cluster=prod&node=n1")))
	requireDocument(t, "form_b_gpu.json", body(t, get(t, s, "/gpu/metrics/0?cluster=prod&node=n1")))
	requireDocument(t, "form_b_gpu.json", body(t, get(t, s, "/gpu/metrics/GPU-n1-0?cluster=prod&node=n1")))
	requireJSON(t, `{"available": true, "gpu_count": 9, "pynvml_installed": true, "libraries": ["amdgpu", "nvml"]}`, body(t, get(t, s, "/gpu/info")))
	requireJSON(t, `{"available": true, "gpu_count": 2, "pynvml_installed": false, "libraries": ["amdgpu"]}`,
		body(t, get(t, s, "/gpu/info?cluster=lab")))
	requireJSON(t, `{"available": false, "gpu_count": 0, "pynvml_installed": false, "libraries": []}`, body(t, get(t, s, "/gpu/info?node=empty")))
	requireJSON(t, `{"available": false, "gpu_count": 0, "pynvml_installed": false, "libraries": []}`, body(t, get(t, s, "/gpu/info?node=unread")))
	requireJSON(t, `{"available": false, "gpu_count": 0, "pynvml_installed": false, "libraries": []}`, body(t, get(t, &view.Snapshot{}, "/gpu/info")))

	// The exporter of one machine needs no parameters.
	s.Nodes = []*view.Node{node(t, "prod", "n1")}
	requireDocument(t, "form_b_metrics.json", body(t, get(t, s, "/gpu/metrics")))
	requireDocument(t, "form_b_gpu.json", body(t, get(t, s, "/gpu/metrics/0")))
}

func TestRouteOfFormC(t *testing.T) {
	s := viewtest.Snapshot()
	requireDocument(t, "form_c_metrics.json", body(t, get(t, s, "/api/v1/monitoring/gpu-metrics")))
	requireDocument(t, "form_c_workstation.json", body(t, get(t, s, "/api/v1/monitoring/gpu-metrics?cluster=-")))
	head := ask(t, s, http.MethodHead, "/api/v1/monitoring/gpu-metrics")
	assert.Equal(t, http.StatusOK, head.Code)
	assert.Empty(t, head.Body.String())
}

// TestFormsAgree: sums of the formats equal the sums of the API.
func TestFormsAgree(t *testing.T) {
	s := viewtest.Snapshot()
	var list view.List[view.Summary]
	require.NoError(t, json.Unmarshal(body(t, get(t, s, "/api/v1/gpu/summary?cluster=prod")), &list))
	var a SummaryA
	require.NoError(t, json.Unmarshal(body(t, get(t, s, "/api/v1/gpu/summary?cluster=prod&form=a")), &a))
	ours := list.Items[0]
	assert.Equal(t, ours.GPUs, a.GPUs)
	assert.InDelta(t, *ours.Memory.Used, float64(*a.UsedMemory)*(1<<20), 1<<19)
	assert.InDelta(t, *ours.Utilization, *a.Utilization/100, 5e-5)
	assert.InDelta(t, *ours.Temperature, *a.Temperature, 5e-3)
}

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		target string
		status int
		detail string // a part of it
		more   string // a part of the whole answer
	}{
		{"/api/v1/gpu/nodes?form=a&cluster_id=nowhere", 404, "nowhere", ""},
		{"/api/v1/gpu/nodes?form=a&node_name=nobody", 404, "nobody", ""},
		{"/api/v1/gpu/nodes/nobody?form=a", 404, "nobody", ""},
		{"/api/v1/gpu/nodes/prod/nobody?form=a", 404, "nobody", ""},
		{"/api/v1/gpu/processes?form=a&cluster_id=nowhere", 404, "nowhere", ""},
		{"/api/v1/gpu/summary?form=a&cluster_id=nowhere", 404, "nowhere", ""},
		{"/api/v1/gpu/nodes?form=a&cluster_id=cpu", 400, "cpu", ""},
		{"/api/v1/gpu/processes?form=a&cluster_id=cpu", 400, "cpu", ""},
		{"/api/v1/gpu/summary?form=a&cluster_id=gone", 400, "gone", "timeout"},
		{"/api/v1/gpu/nodes/n1?form=a", 409, "n1", "prod/n1"},
		{"/api/v1/gpu/nodes?form=a&limit=1", 400, "limit", ""},
		{"/api/v1/gpu/nodes?form=a&form=a", 400, "form", ""},
		{"/gpu/info?cluster=nowhere", 404, "nowhere", ""},
		{"/gpu/metrics", 400, "6", "prod/n2"},
		{"/gpu/metrics?cluster=lab&node=n2", 404, "n2", ""},
		{"/gpu/metrics?node=n1", 409, "n1", "lab/n1"},
		{"/gpu/metrics?node=unread", 503, "", "timeout"},
		{"/gpu/metrics?node=unread", 503, "", "a call was started and did not return"}, // the remedy
		{"/gpu/metrics/0", 400, "6", "prod/n2"},
		{"/gpu/metrics/0?node=unread", 503, "", "timeout"},
		{"/gpu/metrics/7?cluster=prod&node=n1", 404, "7", ""},
		{"/gpu/metrics?node=empty", 503, "prod/empty has no GPU", "otelgpu doctor"},
		{"/gpu/metrics/0?node=empty", 503, "prod/empty has no GPU", "otelgpu doctor"},
		{"/gpu/metrics/x?cluster=prod&node=n1", 404, "x", ""},
		{"/api/v1/monitoring/gpu-metrics?cluster=nowhere", 404, "nowhere", ""},
		{"/api/v1/monitoring/gpu-metrics?cluster=cpu", 400, "cpu", ""},
		{"/api/v1/monitoring/gpu-metrics?node=unread", 503, "", "timeout"},
		{"/api/v1/monitoring/gpu-metrics?node=empty", 503, "prod/empty has no GPU", "otelgpu doctor"},
	} {
		requireProblem(t, get(t, viewtest.Snapshot(), test.target), test.target, test.status, test.detail, test.more)
	}
	for _, target := range []string{"/gpu/metrics", "/gpu/metrics/0", "/api/v1/monitoring/gpu-metrics"} {
		requireProblem(t, get(t, &view.Snapshot{}, target), target, 503, "", "no node has sent anything")
	}
}

func requireProblem(t *testing.T, w *httptest.ResponseRecorder, target string, status int, detail, more string) {
	t.Helper()
	require.Equal(t, status, w.Code, "%s: %s", target, w.Body.String())
	assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), target)
	var p view.Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p), target)
	assert.NotEmpty(t, p.Detail, target)
	assert.Contains(t, p.Detail, detail, target)
	assert.Contains(t, w.Body.String(), more, target)
}
