// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confignet"
)

// patience is for conditions that are fulfilled soon.
const patience = time.Minute

// testConfig listens on a free port of the loopback, and gives a busy machine time for requests and answers.
func testConfig() *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Server.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Server.ReadHeaderTimeout, cfg.Server.WriteTimeout = patience, patience
	cfg.MaxConnectionsPerAddress = 100_000 // all clients of a test have one address
	return cfg
}

// hostWith is a host with extensions.
type hostWith map[component.ID]component.Component

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h }

// startServer starts a server that the test's end closes.
func startServer(t *testing.T, cfg *Config, host component.Host, handler http.Handler) *server {
	t.Helper()
	require.NoError(t, cfg.Validate())
	s, err := listen(t.Context(), cfg, host, componenttest.NewNopTelemetrySettings(), handler)
	require.NoError(t, err)
	s.serve(func(err error) { t.Error(err) })
	t.Cleanup(s.close)
	return s
}

// answer is what a server says.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request on a connection of its own.
func ask(t *testing.T, client *http.Client, request *http.Request) answer {
	t.Helper()
	response, err := client.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(body)}
}

// newClient returns a client that leaves no connection behind.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
}

func get(t *testing.T, url string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	return ask(t, newClient(), request)
}

// answers asks until a server answers. It is for servers with a limit that is shorter than a busy machine may take for a request.
func answers(t *testing.T, client *http.Client, url string) {
	t.Helper()
	require.Eventually(t, func() bool {
		response, err := client.Get(url)
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode == http.StatusOK
	}, patience, time.Millisecond)
}

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

// A stream outlives the write timeout, through all the handlers before the page, and ends when the server does.
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
	answers(t, newClient(), s.url()) // the timeout is for its own answer, too
}

// An unexpected end of the server is reported.
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

// The socket of a collector that was killed is replaced. A socket on which a program listens is an error, and it stays.
func TestLeftUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "view.sock")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	cfg := testConfig()
	cfg.Server.NetAddr.Transport, cfg.Server.NetAddr.Endpoint = confignet.TransportTypeUnix, path
	_, err = listen(t.Context(), cfg, componenttest.NewNopHost(), componenttest.NewNopTelemetrySettings(), http.NotFoundHandler())
	require.ErrorContains(t, err, "stop the program that listens there")
	require.FileExists(t, path)
	require.NoError(t, stale.Close())
	startServer(t, cfg, componenttest.NewNopHost(), http.NotFoundHandler())
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// A file that is not a socket is not removed, and the error names a missing directory.
func TestUnixSocketErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(file, []byte("data"), 0o600))
	directory := filepath.Join(t.TempDir(), "missing")
	for path, want := range map[string]string{file: "set another endpoint", filepath.Join(directory, "view.sock"): "create the directory " + directory} {
		cfg := testConfig()
		cfg.Server.NetAddr.Transport, cfg.Server.NetAddr.Endpoint = confignet.TransportTypeUnix, path
		_, err := listen(t.Context(), cfg, componenttest.NewNopHost(), componenttest.NewNopTelemetrySettings(), http.NotFoundHandler())
		require.ErrorContains(t, err, want)
	}
	assert.FileExists(t, file)
}
