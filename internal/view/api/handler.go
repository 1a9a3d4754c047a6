// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"hash/maphash"
	"net/http"
	"sync"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// Limits on what requests may cost.
const (
	defaultStreams = 64
	maxComputed    = 4 // lists that are filtered and sorted at once: each has memory for every entry of the fleet
)

// Settings are what the API needs beside what it shows.
type Settings struct {
	Logger  *zap.Logger
	Streams int           // server-sent events at once; 0: 64
	More    []route.Route // of others, as the compatible forms: they may be forms of the API's paths

	// DefaultForm is the form of the answers to requests that select none; empty: the API's own.
	DefaultForm string
}

// Handler serves the API.
type Handler struct {
	http.Handler
	reader  view.Reader
	seed    maphash.Seed  // generations count from the start of the exporter: entity tags differ after a restart
	compute chan struct{} // a token for each list that is computed
	streams chan struct{} // a token for each stream
	done    chan struct{}
	close   sync.Once
}

// New returns the handler of the paths below /api/v1/gpu, of /healthz, and of the routes in Settings.More. All other paths are
// answered by 404 as a problem.
func New(reader view.Reader, settings Settings) *Handler {
	if settings.Logger == nil {
		settings.Logger = zap.NewNop()
	}
	if settings.Streams == 0 {
		settings.Streams = defaultStreams
	}
	h := &Handler{
		reader: reader, seed: maphash.MakeSeed(), compute: make(chan struct{}, maxComputed),
		streams: make(chan struct{}, settings.Streams), done: make(chan struct{}),
	}
	h.Handler = route.Mux(append(h.routes(), settings.More...), settings.DefaultForm, settings.Logger)
	return h
}

// Close ends the streams, for which a server's Shutdown would wait.
func (h *Handler) Close() { h.close.Do(func() { close(h.done) }) }

// begin waits for the turn to compute a list, and returns what ends it.
func (h *Handler) begin(ctx context.Context) (func(), error) {
	select {
	case h.compute <- struct{}{}:
		return func() { <-h.compute }, nil
	case <-ctx.Done():
		return nil, route.Problem(http.StatusServiceUnavailable, "Too many requests at once", "the request was cancelled while it waited", "Ask again later.")
	}
}
