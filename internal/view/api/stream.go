// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

const (
	// streamBeat is how often a stream has a comment. It is below the 30 to 60 s after which proxies take a silent connection for a dead one.
	streamBeat = 15 * time.Second
	// streamWrite bounds one write to a stream.
	streamWrite = 10 * time.Second
)

func (h *Handler) streamRoutes() []route.Route {
	return []route.Route{{
		Path: "/api/v1/gpu/stream", ID: "streamChanges", Tag: "page", Summary: "Changes as they happen",
		Description: "Server-sent events: \"event: change\" with {\"generation\": N} at once and after each change, at most one a second, " +
			"and a comment every 15 s. After a change, request again what you show.",
		MediaType: route.EventStream, Problems: []int{http.StatusServiceUnavailable},
		Serve: h.stream,
	}}
}

// stream sends changes until the client disconnects, the exporter ends, or a write takes too long.
func (h *Handler) stream(w http.ResponseWriter, r *route.Request) error {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		return route.Problem(http.StatusServiceUnavailable, "Too many streams", fmt.Sprintf("%d are open", cap(h.streams)),
			"Close a page that shows the view, or request /api/v1/gpu/tiles every few seconds instead.")
	}
	header := w.Header()
	header.Set("Content-Type", route.EventStream)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would collect events
	if r.Method == http.MethodHead {
		return nil
	}
	changes, end := h.reader.Subscribe()
	defer end()
	out := newEvents(w)
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	ok := out.write(fmt.Sprintf("retry: 3000\nevent: change\ndata: {\"generation\":%d}\n\n", h.reader.Generation()))
	for ok {
		select {
		case <-r.Context().Done():
			return nil
		case <-h.done:
			return nil
		case generation, open := <-changes:
			if !open {
				return nil
			}
			ok = out.write(fmt.Sprintf("event: change\ndata: {\"generation\":%d}\n\n", generation))
		case <-beat.C:
			ok = out.write(": beat\n\n")
		}
	}
	return nil
}

// events writes server-sent events.
type events struct {
	w          http.ResponseWriter
	controller *http.ResponseController
}

// newEvents lifts the server's limits on the time of a whole request and a whole answer, which a stream outlives.
func newEvents(w http.ResponseWriter) *events {
	e := &events{w: w, controller: http.NewResponseController(w)}
	_ = e.controller.SetReadDeadline(time.Time{}) // a server without deadlines needs none lifted
	return e
}

// write reports whether it could send an event in the time for one write.
func (e *events) write(event string) bool {
	if err := e.controller.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	if _, err := e.w.Write([]byte(event)); err != nil {
		return false
	}
	return e.controller.Flush() == nil
}
