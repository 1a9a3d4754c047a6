// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// The paths that no other requests may keep from being answered. Streams have a bound of their own.
const (
	healthPath = "/healthz"
	streamPath = "/api/v1/gpu/stream"
)

// limitRequests answers at most so many requests at a time, and refuses the others. What a slow reader has not yet taken of its answer
// is in memory: without a bound the readers would determine how much that is.
func limitRequests(next http.Handler, limit int) http.Handler {
	slots := make(chan struct{}, limit)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthPath || r.URL.Path == streamPath {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close") // the place is for another
			route.WriteProblem(w, r, route.Problem(http.StatusServiceUnavailable, "Too many requests at once",
				"the exporter already answers max_requests requests", "Ask again in a second."))
		}
	})
}
