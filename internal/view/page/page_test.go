// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ask(t *testing.T, method, target string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	New(Settings{}).ServeHTTP(w, r)
	return w
}

func TestFilesAndHeaders(t *testing.T) {
	for path, mediaType := range map[string]string{
		"/": "text/html; charset=utf-8", "/docs": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8", "/app.css": "text/css; charset=utf-8",
	} {
		w := ask(t, http.MethodGet, path, nil)
		require.Equal(t, http.StatusOK, w.Code, path)
		assert.NotEmpty(t, w.Body.String(), path)
		assert.Equal(t, mediaType, w.Header().Get("Content-Type"), path)
		assert.Equal(t, "no-cache", w.Header().Get("Cache-Control"), path)
		head := ask(t, http.MethodHead, path, nil)
		assert.Equal(t, http.StatusOK, head.Code, path)
		assert.Empty(t, head.Body.String(), path)
		assert.Equal(t, w.Header().Get("Content-Length"), head.Header().Get("Content-Length"), path)
	}
}

// Errors have the policy too.
func TestEveryAnswerHasThePolicy(t *testing.T) {
	for path, status := range map[string]int{"/": 200, "/app.js": 200, "/nothing": 404, "/../page.go": 404, "/dist/app.js": 404} {
		w := ask(t, http.MethodGet, path, nil)
		assert.Equal(t, status, w.Code, path)
		assert.Equal(t, []string{policy}, w.Header()["Content-Security-Policy"], path)
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), path)
		assert.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), path)
	}
	assert.NotContains(t, policy, "unsafe")
	assert.NotContains(t, policy, "*")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		assert.Contains(t, policy, part)
	}
}

func TestUnchangedFileIsNotSentAgain(t *testing.T) {
	tag := ask(t, http.MethodGet, "/app.js", nil).Header().Get("ETag")
	require.NotEmpty(t, tag)
	again := ask(t, http.MethodGet, "/app.js", http.Header{"If-None-Match": {tag}})
	assert.Equal(t, http.StatusNotModified, again.Code)
	assert.Empty(t, again.Body.String())
	assert.NotEqual(t, tag, ask(t, http.MethodGet, "/app.css", nil).Header().Get("ETag"))
}

func TestNothingIsWritten(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		w := ask(t, method, "/", nil)
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"), method)
	}
}

// The built files name no other host from which anything could be loaded, and have no way to insert text as HTML or code.
func TestBuiltFilesNoForeignRequests(t *testing.T) {
	known := regexp.MustCompile(`https?://www\.w3\.org/(1998/Math/MathML|1999/xhtml|1999/xlink|2000/svg)`) // names, never loaded
	for _, name := range []string{"index.html", "app.js", "app.css"} {
		body, err := dist.ReadFile("dist/" + name)
		require.NoError(t, err)
		text := known.ReplaceAllString(string(body), "")
		assert.NotRegexp(t, `https?://|["'(]//[a-z]|@import`, text, name)
		assert.NotContains(t, text, "sourceMappingURL", name)
	}
	page, err := dist.ReadFile("dist/index.html")
	require.NoError(t, err)
	assert.NotRegexp(t, `(?i)<script[^>]*>[^<]|<style|style=|\son[a-z]+=`, string(page), "the policy forbids inline scripts and styles")
}

// The page uses no function that takes text for HTML or code.
func TestSourcesInsertTextOnly(t *testing.T) {
	sources(t, func(path, text string) {
		assert.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function|srcdoc`, text, path)
		assert.True(t, strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*"), "%s has no licence header", path)
	})
}

// The notice of the configuration is in the page as text, and changes its tag.
func TestNotice(t *testing.T) {
	ask := func(notice string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		New(Settings{Notice: notice, GrafanaURL: "/d?a={node}&b={gpu}"}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w
	}
	plain, noted := ask(""), ask(`SIMULATED "<b>"`)
	assert.Contains(t, plain.Body.String(), `<meta name="notice" content="">`)
	assert.Contains(t, noted.Body.String(), `<meta name="grafana" content="/d?a={node}&amp;b={gpu}">`)
	assert.Contains(t, noted.Body.String(), `<meta name="notice" content="SIMULATED &#34;&lt;b&gt;&#34;">`)
	assert.NotEqual(t, plain.Header().Get("ETag"), noted.Header().Get("ETag"))
}
