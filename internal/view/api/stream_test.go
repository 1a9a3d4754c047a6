// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// open opens a stream and returns its lines.
func open(t *testing.T, server *httptest.Server) (*bufio.Scanner, func()) {
	t.Helper()
	answer, err := http.Get(server.URL + "/api/v1/gpu/stream") //nolint:noctx // the test closes it
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	assert.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	return bufio.NewScanner(answer.Body), func() { _ = answer.Body.Close() }
}

// waitFor reads lines until one comes.
func waitFor(t *testing.T, lines *bufio.Scanner, want string) {
	t.Helper()
	for lines.Scan() {
		if lines.Text() == want {
			return
		}
	}
	t.Fatalf("the stream ended before %q: %v", want, lines.Err())
}

// A stream outlives the server's limits on reading a request and writing an answer.
func TestStreamOutlivesTheServersTimeouts(t *testing.T) {
	reader := viewtest.NewReader(viewtest.Snapshot())
	h := New(reader, Settings{})
	server := httptest.NewUnstartedServer(h)
	server.Config.WriteTimeout, server.Config.ReadTimeout = time.Second, time.Second
	server.Start()
	defer server.Close()
	lines, end := open(t, server)
	waitFor(t, lines, `data: {"generation":42}`)
	for generation, want := range map[uint64]string{43: `data: {"generation":43}`, 44: `data: {"generation":44}`} {
		time.Sleep(1200 * time.Millisecond) // longer than the limits
		s := viewtest.Snapshot()
		s.Generation = generation
		reader.Set(s)
		waitFor(t, lines, want)
	}
	end()
	assert.Eventually(t, func() bool { return reader.Subscribers() == 0 }, time.Minute, 10*time.Millisecond)
	http.DefaultClient.CloseIdleConnections()
}

func TestStreamsAreBounded(t *testing.T) {
	reader := viewtest.NewReader(viewtest.Snapshot())
	h := New(reader, Settings{Streams: 2})
	server := httptest.NewServer(h)
	defer server.Close()
	_, end := open(t, server)
	defer end()
	lines, end2 := open(t, server)
	defer end2()
	answer, err := http.Get(server.URL + "/api/v1/gpu/stream")
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	assert.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))

	// Close ends all streams, so that a server can be shut down.
	waitFor(t, lines, `data: {"generation":42}`)
	h.Close()
	h.Close()
	for lines.Scan() {
	}
	require.NoError(t, lines.Err())
	assert.Eventually(t, func() bool { return reader.Subscribers() == 0 }, time.Minute, 10*time.Millisecond)
	http.DefaultClient.CloseIdleConnections()
}
