// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confignet"
)

// ticker writes a line in each interval until the request ends, and extends the write deadline each time, as a stream of events does.
func ticker(interval time.Duration, ended chan<- error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		for n := 0; ; n++ {
			if err := control.SetWriteDeadline(time.Now().Add(patience)); err != nil {
				ended <- err
				return
			}
			_, _ = fmt.Fprintln(w, n)
			if err := control.Flush(); err != nil {
				ended <- err
				return
			}
			select {
			case <-r.Context().Done():
				ended <- nil
				return
			case <-time.After(interval):
			}
		}
	}
}

// A stream outlives the write timeout, through everything that stands before the handler, and ends when the server does.
func TestStreamOutlivesTheWriteTimeout(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%t", secure), func(t *testing.T) {
			t.Parallel() // it waits
			cfg := testConfig()
			cfg.Server.WriteTimeout = 2 * time.Second // in which a slow machine makes a TLS connection
			client := newClient()
			if secure {
				client = cfg.secure(t)
			}
			ended := make(chan error, 1)
			s := startServer(t, cfg, componenttest.NewNopHost(), ticker(300*time.Millisecond, ended))
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url()+"api/v1/gpu/stream", http.NoBody)
			require.NoError(t, err)
			response, err := client.Do(request)
			require.NoError(t, err)
			defer func() { _ = response.Body.Close() }()
			lines := bufio.NewScanner(response.Body)
			for n := range 10 { // 3 s
				require.True(t, lines.Scan(), lines.Err())
				assert.Equal(t, strconv.Itoa(n), lines.Text())
			}
			s.close()
			select {
			case err := <-ended:
				require.NoError(t, err)
			case <-time.After(patience):
				t.Fatal("the stream goes on")
			}
			for lines.Scan() { // what was under way
			}
		})
	}
}

// Without a deadline of its own an answer that is not taken ends with the write timeout, and its place is free again.
func TestSlowReaderEnds(t *testing.T) {
	t.Parallel() // it waits
	cfg := testConfig()
	cfg.Server.WriteTimeout = 3 * time.Second // in which a slow machine makes the other requests
	cfg.MaxRequests = 1
	long := make([]byte, 64<<20)
	s := startServer(t, cfg, componenttest.NewNopHost(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = w.Write(long)
		}
	}))
	conn, err := net.Dial("tcp", s.listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprint(conn, "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1)) // the answer has begun
	require.NoError(t, err)

	busy := get(t, s.url())
	assert.Equal(t, http.StatusServiceUnavailable, busy.status)
	assert.Equal(t, "1", busy.header.Get("Retry-After"))
	assert.Contains(t, busy.body, "max_requests")
	assert.Equal(t, http.StatusOK, get(t, s.url()+"healthz").status, "never waits for others")
	assert.Eventually(t, func() bool { return get(t, s.url()).status == http.StatusOK }, patience, 20*time.Millisecond)
}

// An end of the server that nobody asked for is reported.
func TestEndIsReported(t *testing.T) {
	s, err := listen(t.Context(), testConfig(), componenttest.NewNopHost(), componenttest.NewNopTelemetrySettings(), http.NotFoundHandler())
	require.NoError(t, err)
	reported := make(chan error, 1)
	s.serve(func(err error) { reported <- err })
	require.NoError(t, s.listener.Close())
	select {
	case err := <-reported:
		require.ErrorIs(t, err, net.ErrClosed)
	case <-time.After(patience):
		t.Fatal("nothing is reported")
	}
	s.close()
}

func TestUnixSocket(t *testing.T) {
	cfg := testConfig()
	cfg.Server.NetAddr.Transport, cfg.Server.NetAddr.Endpoint = confignet.TransportTypeUnix, filepath.Join(t.TempDir(), "view.sock")
	s := startServer(t, cfg, componenttest.NewNopHost(), http.NotFoundHandler())
	assert.Equal(t, cfg.Server.NetAddr.Endpoint, s.url())
	conn, err := net.Dial("unix", cfg.Server.NetAddr.Endpoint)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: anything\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "404")
}
