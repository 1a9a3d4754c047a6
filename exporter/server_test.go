// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
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
func ticker(interval time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		for n := 0; ; n++ {
			if control.SetWriteDeadline(time.Now().Add(patience)) != nil {
				return
			}
			_, _ = fmt.Fprintln(w, n)
			if control.Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
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
			cfg.Server.WriteTimeout = time.Second
			client := newClient()
			if secure {
				client = cfg.secure(t)
			}
			s := startServer(t, cfg, componenttest.NewNopHost(), ticker(300*time.Millisecond))
			s.last = patience
			var lines *bufio.Scanner
			require.Eventually(t, func() bool { // the timeout bounds the beginning, for which a busy machine may need another try
				response, err := client.Get(s.url() + "api/v1/gpu/stream")
				if err != nil {
					return false
				}
				t.Cleanup(func() { _ = response.Body.Close() })
				lines = bufio.NewScanner(response.Body)
				return lines.Scan()
			}, patience, time.Millisecond)
			for n := range 6 {
				assert.Equal(t, strconv.Itoa(n), lines.Text())
				require.True(t, lines.Scan(), lines.Err())
			}
			s.close()
			for lines.Scan() { // what was under way
			}
			assert.NoError(t, lines.Err())
		})
	}
}

// Without a deadline of its own an answer that is not taken ends with the write timeout, and its place is free again.
func TestSlowReaderEnds(t *testing.T) {
	t.Parallel() // it waits
	cfg := testConfig()
	cfg.Server.WriteTimeout = time.Second
	cfg.MaxRequests = 1
	ended := make(chan error, 1)
	s := startServer(t, cfg, componenttest.NewNopHost(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, err := w.Write(make([]byte, 64<<20))
			ended <- err
		}
	}))
	dial(t, s.listener.Addr().String(), 1, "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
	answers(t, newClient(), s.url()) // the timeout is that of its own answer, too
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
