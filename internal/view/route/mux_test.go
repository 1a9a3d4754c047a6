// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/view"
)

func text(s string) func(http.ResponseWriter, *Request) error {
	return func(w http.ResponseWriter, _ *Request) error {
		_, err := w.Write([]byte(s))
		return err
	}
}

func ask(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func problem(t *testing.T, w *httptest.ResponseRecorder) view.Problem {
	t.Helper()
	assert.Equal(t, []string{ProblemJSON}, w.Header().Values("Content-Type"))
	var p view.Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	assert.Equal(t, w.Code, p.Status)
	return p
}

// A path may answer in another form, which has parameters of its own.
func TestForms(t *testing.T) {
	h := Mux([]Route{
		{Path: "/x", Form: "b", FormType: "application/vnd.b+json", Serve: text("b")},
		{Path: "/x", Parameters: []Parameter{{Name: "p"}}, Serve: text("ours")},
		{Path: "/x", Form: "a", FormType: "application/vnd.a+json", Parameters: []Parameter{{Name: "q"}}, Serve: text("a")},
		{Path: "/y", Serve: text("y")},
	}, "", zap.NewNop())
	for _, test := range []struct{ target, accept, want string }{
		{"/x", "", "ours"},
		{"/x?p=1", "*/*", "ours"},
		{"/x?form=a", "", "a"},
		{"/x?form=a&q=1", "", "a"},
		{"/x?form=b", "application/vnd.a+json", "b"}, // the query is the stronger word
		{"/x", "text/html, application/vnd.a+json;q=0.1", "a"},
		{"/x", "application/vnd.a+json;q=0", "ours"},
		{"/x", "application/*", "ours"},
	} {
		w := ask(h, test.target, "Accept", test.accept)
		assert.Equal(t, test.want, w.Body.String(), test)
		assert.Equal(t, "Accept", w.Header().Get("Vary"))
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	}
	for target, detail := range map[string]string{
		"/x?form=c": "form", "/x?form=": "form", "/x?form=a&form=b": "form", "/x?form=a&p=1": `"p"`, "/x?q=1": `"q"`, "/y?form=a": `"form"`,
	} {
		p := problem(t, ask(h, target))
		assert.Equal(t, http.StatusBadRequest, p.Status, target)
		assert.Contains(t, p.Detail, detail, target)
	}
}

// A handler that panics or fails is answered by a problem that says nothing of why, which the log has.
func TestFailures(t *testing.T) {
	core, logs := observer.New(zapcore.ErrorLevel)
	h := Mux([]Route{
		{Path: "/panics", Serve: func(http.ResponseWriter, *Request) error { panic("a secret") }},
		{Path: "/fails", Serve: func(http.ResponseWriter, *Request) error { return errors.New("a secret") }},
	}, "", zap.New(core))
	for i, path := range []string{"/panics", "/fails"} {
		w := ask(h, path)
		p := problem(t, w)
		assert.Equal(t, http.StatusInternalServerError, p.Status)
		assert.Equal(t, path, p.Instance)
		assert.NotContains(t, w.Body.String(), "secret")
		require.Equal(t, i+1, logs.Len())
		assert.Contains(t, logs.All()[i].ContextMap()["error"], "a secret")
	}
}

// An answer that has begun cannot become a problem: the connection ends, so that half of it does not look whole.
func TestFailureWithinAnAnswer(t *testing.T) {
	h := Mux([]Route{{Path: "/half", Serve: func(w http.ResponseWriter, _ *Request) error {
		_, _ = w.Write([]byte(strings.Repeat("x", 100_000)))
		return errors.New("no more")
	}}}, "", zap.NewNop())
	server := httptest.NewServer(h)
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/half")
	require.NoError(t, err)
	defer answer.Body.Close()
	_, err = answer.Body.Read(make([]byte, 1))
	for err == nil {
		_, err = answer.Body.Read(make([]byte, 10_000))
	}
	assert.ErrorContains(t, err, "unexpected EOF")
}

func TestParameters(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var got *Request
	h := Mux([]Route{{
		Path: "/p/{name}",
		Parameters: []Parameter{
			{Name: "name", Path: true, Required: true},
			{Name: "cluster", Alias: "cluster_id"},
			{Name: "by", Kind: Choice, Choices: []string{"node", "model"}},
			{Name: "limit", Kind: Integer, Min: 1, Max: 10, Default: "5"},
			{Name: "since", Kind: Moment},
		},
		Serve: func(_ http.ResponseWriter, r *Request) error {
			got = r
			return nil
		},
	}}, "", zap.NewNop())

	require.Equal(t, http.StatusOK, ask(h, "/p/a%2Fb").Code)
	assert.Equal(t, "a/b", got.Text("name"))
	assert.Empty(t, got.Text("cluster"))
	assert.Equal(t, uint64(5), got.Integer("limit"))
	assert.True(t, got.Moment("since", now).IsZero())

	require.Equal(t, http.StatusOK, ask(h, "/p/x?cluster_id=c&by=node&limit=10&since=1m30s").Code)
	assert.Equal(t, "c", got.Text("cluster"))
	assert.Equal(t, "node", got.Text("by"))
	assert.Equal(t, uint64(10), got.Integer("limit"))
	assert.Equal(t, now.Add(-90*time.Second), got.Moment("since", now))

	require.Equal(t, http.StatusOK, ask(h, "/p/x?since=2026-11-22T11:00:00%2B01:00").Code)
	assert.Equal(t, now.Add(-2*time.Hour), got.Moment("since", now))

	for query, detail := range map[string]string{
		"limit=0": `limit: "0"`, "limit=11": "limit", "limit=1e1": "limit", "limit=+1": "limit", "by=Node": `by: "Node"`, "since=1": "since", "since=-1s": "since",
		"cluster=": "cluster: it is empty", "cluster=a&cluster_id=a": "cluster: it is given 2 times", "limit=1&limit=1": "limit: it is given 2 times",
		"cluster=%ff": "cluster: it is not UTF-8", "%gg=1": "%gg", "a;b": "semicolon", "colour=red&size=1": `"colour", "size"`,
		"cluster=" + strings.Repeat("x", maxValue+1): "cluster: it is 4097 bytes long",
	} {
		p := problem(t, ask(h, "/p/x?"+query))
		assert.Equal(t, http.StatusBadRequest, p.Status, query)
		assert.Contains(t, p.Detail, detail, query)
		assert.NotEmpty(t, p.Remedy)
		assert.Less(t, len(p.Detail), 300)
	}
	assert.Equal(t, http.StatusRequestURITooLong, problem(t, ask(h, "/p/x?cluster="+strings.Repeat("x", maxQuery))).Status)
	assert.Equal(t, http.StatusBadRequest, problem(t, ask(h, "/p/%ff")).Status)
}

func TestRequiredParameter(t *testing.T) {
	h := Mux([]Route{{Path: "/r", Parameters: []Parameter{{Name: "metric", Required: true}}, Serve: text("ok")}}, "", zap.NewNop())
	assert.Equal(t, "metric: it is missing", problem(t, ask(h, "/r")).Detail)
	assert.Equal(t, "ok", ask(h, "/r?metric=x").Body.String())
}
