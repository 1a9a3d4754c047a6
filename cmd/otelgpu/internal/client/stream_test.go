// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStream(t *testing.T) {
	const body = "retry: 3000\nevent: change\ndata: {\"generation\":1}\n\n: beat\n\nevent: change\ndata: {\"generation\":2}\n\n"
	changes := 0
	err := serve(t, send(200, "text/event-stream", body)).Stream(t.Context(), func() { changes++ })
	require.ErrorContains(t, err, "ended early")
	assert.Equal(t, 3, changes, "the beginning and two changes; a comment is none")
}

func TestStreamFails(t *testing.T) {
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"no stream": {send(200, "text/html", "<html>"), `"text/html" and no stream`},
		"too many":  {send(503, "application/problem+json", `{"title":"Too many streams","remedy":"Close a page."}`), "Too many streams; Close a page."},
		"long line": {send(200, "text/event-stream", strings.Repeat("x", 2*maxLineBytes)), "token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, serve(t, tc.handler).Stream(t.Context(), func() {}), tc.want)
		})
	}
}

// The end of the program ends the stream.
func TestStreamEnds(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, c.Stream(ctx, cancel), context.Canceled)
}

// A server that accepts the stream's connection and is silent is given up.
func TestSilentStream(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c.timeout = 50 * time.Millisecond
	require.ErrorContains(t, c.Stream(t.Context(), func() { t.Error("it has not begun") }), "sent nothing")
}

func FuzzStream(f *testing.F) {
	f.Add("event: change\ndata: {}\n\n")
	f.Add("data:\r\n\r\n:\n\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		changes := 0
		require.Error(t, events(strings.NewReader(body), func() {}, func() { changes++ }))
		assert.LessOrEqual(t, changes, strings.Count(body, "data:"))
	})
}
