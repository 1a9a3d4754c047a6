// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// dial opens connections and sends the same beginning of a request on each.
func dial(t *testing.T, address string, count int, beginning string) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, 0, count)
	t.Cleanup(func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	for range count {
		conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		conns = append(conns, conn)
		_, err = fmt.Fprint(conn, beginning)
		require.NoError(t, err)
	}
	return conns
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// 1,000 connections with half a request each: the pipeline goes on, no more than max_connections are taken at a time, what they cost is
// bounded, and a request that comes after them is answered when read_header_timeout has ended those before it.
func TestHalfRequests(t *testing.T) {
	const connections = 1000
	cfg := testConfig()
	cfg.Server.ReadHeaderTimeout = 500 * time.Millisecond
	fleet := newFakeStore()
	f := newTestFactory(fleet)
	e, err := f.createMetrics(t.Context(), nopSettings(), cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	defer func() { require.NoError(t, e.Shutdown(t.Context())) }()
	s := f.all()[cfg].server
	before, routines := heap(), runtime.NumGoroutine()

	dial(t, s.listener.Addr().String(), connections, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Half: ")
	for range 100 {
		require.NoError(t, e.ConsumeMetrics(t.Context(), pmetric.NewMetrics()))
	}
	assert.EqualValues(t, 100, fleet.metrics.Load())
	assert.LessOrEqual(t, runtime.NumGoroutine(), routines+cfg.MaxConnections+10)
	after := heap()
	if after > before {
		assert.Less(t, after-before, uint64(32<<20))
	}
	answers(t, newClient(), s.url()+"healthz") // the limit is for its own header, too
}

// 1,000 readers request a long answer and read nothing of it: as many answers as max_requests are in memory, the other requests are
// refused, and a later client is answered.
func TestSlowReaders(t *testing.T) {
	const connections, part, parts = 1000, 1 << 20, 64 // the kernel buffers some MiB of an answer that is not read
	cfg := testConfig()
	cfg.MaxRequests = 8
	s := startServer(t, cfg, componenttest.NewNopHost(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			for range parts {
				if _, err := w.Write(make([]byte, part)); err != nil {
					return
				}
			}
		}
	}))
	before := heap()
	dial(t, s.listener.Addr().String(), connections, "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n")
	var busy answer
	for busy.status != http.StatusServiceUnavailable { // until they have all turns; the test's own limit ends it
		busy = get(t, s.url())
	}
	assert.Equal(t, "1", busy.header.Get("Retry-After"))
	assert.Contains(t, busy.body, "max_requests")
	assert.Equal(t, http.StatusOK, get(t, s.url()+"healthz").status)
	if after := heap(); after > before {
		assert.Less(t, after-before, uint64(cfg.MaxRequests*part+32<<20))
	}
}

// More connections than max_connections wait, and are answered when others end.
func TestMoreConnectionsWait(t *testing.T) {
	cfg := testConfig()
	cfg.MaxConnections = 2
	requests := make(chan string, 10)
	s := startServer(t, cfg, componenttest.NewNopHost(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r.URL.Path }))
	open := dial(t, s.listener.Addr().String(), 2, "GET /held HTTP/1.1\r\n")
	waiting := dial(t, s.listener.Addr().String(), 1, "GET /waiting HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")[0]
	responses := bufio.NewReader(open[1])
	_, err := fmt.Fprint(open[1], "Host: localhost\r\n\r\n")
	require.NoError(t, err)
	for range 5 { // requests that come later, on a connection that came earlier
		require.Equal(t, "/held", <-requests)
		response, err := http.ReadResponse(responses, nil)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		_, err = fmt.Fprint(open[1], "GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
	}
	require.Equal(t, "/held", <-requests)
	require.NoError(t, open[0].Close())
	require.Equal(t, "/waiting", <-requests)
	require.NoError(t, waiting.SetReadDeadline(time.Now().Add(patience)))
	text, err := io.ReadAll(waiting)
	require.NoError(t, err)
	assert.Contains(t, string(text), "HTTP/1.1 200")
}

// A header is bounded.
func TestLongHeader(t *testing.T) {
	s := startServer(t, testConfig(), componenttest.NewNopHost(), http.NotFoundHandler())
	conn := dial(t, s.listener.Addr().String(), 1, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: "+strings.Repeat("x", 2*maxHeaderBytes)+"\r\n\r\n")[0]
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	text := make([]byte, 64)
	n, err := io.ReadAtLeast(conn, text, 12)
	require.NoError(t, err)
	assert.Contains(t, string(text[:n]), "431")
}

// A request with a body is refused immediately, whether the body comes or not, also one that claims to be compressed.
func TestBodyIsNotWaitedFor(t *testing.T) {
	for name, header := range map[string]string{
		"length":     "Content-Length: 1000000",
		"chunks":     "Transfer-Encoding: chunked",
		"compressed": "Content-Length: 1000000\r\nContent-Encoding: gzip",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			t.Run(name+" "+method, func(t *testing.T) {
				s := startServer(t, testConfig(), componenttest.NewNopHost(), http.NotFoundHandler())
				conn := dial(t, s.listener.Addr().String(), 1, method+" / HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n\r\n")[0]
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
				text, err := io.ReadAll(conn) // until the server ends the connection
				require.NoError(t, err)
				want := "HTTP/1.1 400"
				if method == http.MethodPost {
					want = "HTTP/1.1 405"
				}
				assert.True(t, strings.HasPrefix(string(text), want), string(text))
			})
		}
	}
}

// Half requests of one address use only the places of that address. Further ones are closed immediately, and their places are free when
// they end.
func TestHalfRequestsOfOneAddress(t *testing.T) {
	const limit, connections = 2, 20
	cfg := testConfig()
	cfg.MaxConnections, cfg.MaxConnectionsPerAddress = limit+1, limit
	s := startServer(t, cfg, componenttest.NewNopHost(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	address := s.listener.Addr().String()
	open := make([]net.Conn, 0, connections)
	for range connections {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: ") // the server may have closed it
		open = append(open, conn)
	}
	for _, conn := range open[limit:] {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	other := newClient()
	other.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext
	response, err := other.Get(s.url())
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Skip("this machine has one loopback address")
	}
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, open[0].Close())
	answers(t, newClient(), s.url())
}
