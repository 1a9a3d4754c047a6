// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The overlay for OTLP over HTTP sends every request, below the path of OTLP_URL, with the headers of OTLP_HEADERS, which the log does not show.
func TestBackendByHTTP(t *testing.T) {
	t.Parallel()
	n := prepare(t, spec{})
	sink, err := url.Parse(n.sink.URL)
	require.NoError(t, err)
	proxy := http.StripPrefix("/otlp", httputil.NewSingleHostReverseProxy(sink))
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Contains(t, []string{"/otlp/v1/metrics", "/otlp/v1/logs"}, r.URL.Path)
		assert.Equal(t, "Basic b3BlbjpzZXNhbWU=", r.Header.Get("Authorization"))
		assert.Equal(t, "lab", r.Header.Get("X-Scope"))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(backend.Close)
	s := shipped{
		configs:  []string{"agent.yaml", filepath.Join("overlays", "otlp-http.yaml")},
		scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}", simulator(t).Full),
		env:      append(n.environment(), "OTLP_URL="+backend.URL+"/otlp", "OTLP_HEADERS={authorization: Basic b3BlbjpzZXNhbWU=, X-Scope: lab}"),
	}
	n.page, n.process = s.start(t, n.dir, n.sink)
	n.next("eight GPUs", full(8))
	n.set("[fault f]\ngpu = 1\nkind = lost")
	eventually(t, patience, "an event arrives", func() bool { return len(n.sink.Events()) > 0 })
	n.interrupt()
	assert.NotContains(t, n.process.Output(), "b3BlbjpzZXNhbWU=")
}
