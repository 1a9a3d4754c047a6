// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/otelgpu/gpureceiver/internal/view"
)

var (
	ourHosts = []string{
		"localhost", "LocalHost", "localhost:9410", "localhost:80", "127.0.0.1", "127.0.0.1:9410", "127.1.2.3:1", "[::1]", "[::1]:9410",
	}
	foreignHosts = []string{
		"", "evil.example", "evil.example:9410", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:localhost", "localhost.",
		"192.168.1.1", "0.0.0.0", "[::]", "[::1%eth0]", "[localhost]:1]", "127.1", "2130706433", "0x7f.0.0.1", "127.0.0.1@evil.example", "local host",
	}
)

func TestHosts(t *testing.T) {
	loopback, listed, open := newHosts(nil, true), newHosts([]string{"GPUs.example", "10.0.0.1"}, false), newHosts(nil, false)
	for _, host := range ourHosts {
		assert.True(t, loopback.allow(host), host)
		assert.True(t, listed.allow(host), host)
		assert.True(t, open.allow(host), host)
	}
	for _, host := range foreignHosts {
		assert.False(t, loopback.allow(host), host)
		assert.False(t, listed.allow(host), host)
		assert.True(t, open.allow(host), host)
	}
	for _, host := range []string{"gpus.example", "gpus.EXAMPLE:443", "10.0.0.1:9410"} {
		assert.False(t, loopback.allow(host), host)
		assert.True(t, listed.allow(host), host)
	}
}

// FuzzHosts: what is allowed on a loopback is localhost or an address of the loopback.
func FuzzHosts(f *testing.F) {
	for _, host := range append(ourHosts, foreignHosts...) {
		f.Add(host)
	}
	h := newHosts(nil, true)
	f.Fuzz(func(t *testing.T, host string) {
		if !h.allow(host) {
			return
		}
		name := strings.ToLower(host)
		if name == "localhost" || strings.HasPrefix(name, "localhost:") || strings.HasPrefix(name, "[localhost]") {
			return
		}
		if port, err := netip.ParseAddrPort(name); err == nil {
			assert.True(t, port.Addr().IsLoopback())
			return
		}
		address, err := netip.ParseAddr(withoutPort(name))
		require.NoError(t, err)
		assert.True(t, address.IsLoopback())
	})
}

// Over a real connection: a name that someone else made point to this machine is refused before anything else looks at the request.
func TestForeignNameIsRefused(t *testing.T) {
	reached := false
	s := startServer(t, testConfig(), componenttest.NewNopHost(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	for _, host := range foreignHosts[1:3] {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url()+"api/v1/gpu/nodes", http.NoBody)
		require.NoError(t, err)
		request.Host = host
		refused := ask(t, newClient(), request)
		assert.Equal(t, http.StatusForbidden, refused.status)
		assert.Equal(t, "application/problem+json", refused.header.Get("Content-Type"))
		var problem view.Problem
		require.NoError(t, json.Unmarshal([]byte(refused.body), &problem))
		assert.Contains(t, problem.Remedy, "allowed_hosts")
		assert.Equal(t, "/api/v1/gpu/nodes", problem.Instance)
	}
	assert.False(t, reached)
	assert.Equal(t, http.StatusOK, get(t, s.url()).status)
	assert.True(t, reached)
}

// No method but GET and HEAD reaches a handler, and every answer has the headers.
func TestOnlyReads(t *testing.T) {
	reached := 0
	g := newGuard(testConfig(), true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	for _, method := range []string{
		http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace, http.MethodConnect, "PURGE", "get",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "/api/v1/gpu/nodes", http.NoBody)
		r.Host = "localhost"
		g.ServeHTTP(w, r)
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		assert.Contains(t, w.Body.String(), "Use GET")
	}
	assert.Zero(t, reached)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody)
		r.Host = "localhost"
		g.ServeHTTP(w, r)
		assert.Equal(t, http.StatusOK, w.Code)
		for name, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		} {
			assert.Equal(t, value, w.Header().Get(name), name)
		}
	}
	assert.Equal(t, 2, reached)
}

// Other origins may read nothing unless cors allows them.
func TestCORS(t *testing.T) {
	const origin = "https://dashboard.example"
	allowing := testConfig()
	allowing.Server.CORS = configoptional.Some(confighttp.CORSConfig{AllowedOrigins: []string{origin}})
	for _, c := range []struct {
		cfg             *Config
		allowed         string
		preflightStatus int
	}{{testConfig(), "", http.StatusMethodNotAllowed}, {allowing, origin, http.StatusNoContent}} {
		s := startServer(t, c.cfg, componenttest.NewNopHost(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for method, status := range map[string]int{http.MethodGet: http.StatusOK, http.MethodOptions: c.preflightStatus} {
			request, err := http.NewRequestWithContext(t.Context(), method, s.url(), http.NoBody)
			require.NoError(t, err)
			request.Header.Set("Origin", origin)
			request.Header.Set("Access-Control-Request-Method", http.MethodGet)
			got := ask(t, newClient(), request)
			assert.Equal(t, status, got.status)
			assert.Equal(t, c.allowed, got.header.Get("Access-Control-Allow-Origin"))
		}
	}
}
