// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
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

// pipes is a listener whose connections are pipes, so that a server and its clients run on fake time.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error { close(l.closed); return nil }
func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects to the server that listens.
func (l *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	l.accepted <- server
	return client, nil
}

// A stream outlives the server's limits on reading a request and writing an answer.
func TestStreamOutlivesTheServersTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := viewtest.NewReader(viewtest.Snapshot())
		listener := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: New(reader, Settings{}), WriteTimeout: time.Second, ReadTimeout: time.Second}
		go func() { _ = server.Serve(listener) }()
		transport := &http.Transport{DialContext: listener.dial}
		answer, err := (&http.Client{Transport: transport}).Get("http://server/api/v1/gpu/stream") //nolint:noctx // the test closes it
		require.NoError(t, err)
		lines := bufio.NewScanner(answer.Body)
		waitFor(t, lines, `data: {"generation":42}`)
		for generation := uint64(43); generation < 45; generation++ {
			time.Sleep(2 * time.Second) // longer than the limits
			s := viewtest.Snapshot()
			s.Generation = generation
			reader.Set(s)
			waitFor(t, lines, fmt.Sprintf(`data: {"generation":%d}`, generation))
		}
		require.NoError(t, answer.Body.Close())
		synctest.Wait()
		assert.Zero(t, reader.Subscribers())
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
	})
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

// streamed is a connection that hands on what is written.
type streamed struct {
	discard
	target *io.PipeWriter
}

func (s *streamed) Write(p []byte) (int, error) { return s.target.Write(p) }

func (*streamed) Flush() {}

// A stream on which nothing happens has a comment every 15 s, and ends with its request.
func TestStreamBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(viewtest.NewReader(viewtest.Snapshot()), Settings{})
		reader, writer := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r := httptest.NewRequest(http.MethodGet, "/api/v1/gpu/stream", nil).WithContext(ctx)
			h.ServeHTTP(&streamed{discard{http.Header{}}, writer}, r)
		}()
		text := make([]byte, 1000)
		n, err := reader.Read(text)
		require.NoError(t, err)
		assert.Equal(t, "retry: 3000\nevent: change\ndata: {\"generation\":42}\n\n", string(text[:n]))
		for i := range 3 {
			n, err = reader.Read(text)
			require.NoError(t, err)
			assert.Equal(t, ": beat\n\n", string(text[:n]))
			assert.Equal(t, time.Duration(i+1)*15*time.Second, time.Since(start))
		}
		cancel()
		<-ended
		assert.Empty(t, h.streams)
	})
}
