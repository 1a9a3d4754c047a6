// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"net/http"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// guard runs before everything else, authentication too. It refuses names that are not this server's, methods that could write and requests
// with a body, and sets the headers that every answer has.
type guard struct {
	hosts hosts
	cors  bool // a browser may ask what it may ask
	next  http.Handler
}

func newGuard(cfg *Config, loopback bool, next http.Handler) *guard {
	return &guard{hosts: newHosts(cfg.AllowedHosts, loopback), cors: cfg.Server.CORS.HasValue() && len(cfg.Server.CORS.Get().AllowedOrigins) > 0, next: next}
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'") // a page sets its own
	switch {
	case !g.hosts.allow(r.Host):
		route.WriteProblem(w, r, route.Problem(http.StatusForbidden, "Unknown server name", "the Host header contains a name that is not this server's",
			"Use localhost or 127.0.0.1, or list the name in allowed_hosts of the exporter."))
	case !g.reads(r.Method):
		header.Set("Allow", "GET, HEAD")
		end(w, header)
		route.WriteProblem(w, r, route.Problem(http.StatusMethodNotAllowed, "Method not allowed", r.Method, "Use GET or HEAD: nothing can be changed here."))
	case r.ContentLength != 0:
		end(w, header)
		route.WriteProblem(w, r, route.Problem(http.StatusBadRequest, "The request contains a body", "the API reads no body",
			"Put all parameters into the URL, and leave the body out."))
	default:
		g.next.ServeHTTP(w, r)
	}
}

func (g *guard) reads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || g.cors && method == http.MethodOptions
}

// end ends the connection after the answer. The rest of the request, which may never come, is not waited for.
func end(w http.ResponseWriter, header http.Header) {
	header.Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // not possible: the write timeout ends it
}
