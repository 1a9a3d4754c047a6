// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/httpstream"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

var inDriver = place{defaultNamespace, "driver-n1", driverContainer}

// connect returns an execer of the server, as a cluster has one.
func (s *apiServer) connect() *execer {
	s.t.Helper()
	c := s.cluster("c")
	config, err := c.API.REST()
	require.NoError(s.t, err)
	clients, err := kube.NewClients(config)
	require.NoError(s.t, err)
	return newExecer(config, clients.Kubernetes.CoreV1().RESTClient())
}

func newOutput() *output { return (&outputs{}).get() }

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func echo(argv []string, stdout, stderr io.Writer, _ <-chan struct{}) (int, error) {
	fmt.Fprintf(stdout, "%q", argv)
	fmt.Fprint(stderr, "to stderr")
	return 3, nil
}

func TestExec(t *testing.T) {
	for _, tt := range []struct {
		name      string
		behaviour execBehaviour
		requests  map[string]int
	}{
		{name: "over a WebSocket", requests: map[string]int{"GET": 2}},
		{name: "over SPDY where the server is older", behaviour: execBehaviour{noWebSocket: true}, requests: map[string]int{"GET": 1, "POST": 2}},
		{name: "over SPDY where only create is granted", behaviour: execBehaviour{denyGet: true}, requests: map[string]int{"GET": 1, "POST": 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newAPIServer(t)
			s.boxes["driver-n1"], s.exec = echo, tt.behaviour
			e, out := s.connect(), newOutput()
			code, err := e.exec(soon(t), inDriver, []string{"a", "b c", "$d;\n"}, out)
			require.NoError(t, err)
			assert.Equal(t, 3, code)
			assert.Equal(t, `["a" "b c" "$d;\n"]`, string(out.stdout.data))
			assert.Equal(t, "to stderr", string(out.stderr.data))

			out.reset()
			_, err = e.exec(soon(t), inDriver, []string{"a"}, out)
			require.NoError(t, err)
			assert.Equal(t, tt.requests, s.requests, "what works is remembered")
			assert.Positive(t, s.resumed, "TLS sessions are resumed")
		})
	}
}

func TestExecPrefersWebSocketAgain(t *testing.T) {
	s := newAPIServer(t)
	s.boxes["driver-n1"], s.exec = echo, execBehaviour{noWebSocket: true}
	e := s.connect()
	_, err := e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.NoError(t, err)
	s.set(func() { s.exec = execBehaviour{} })
	now := time.Now()
	e.now = func() time.Time { return now.Add(spdyKeep + time.Second) }
	_, err = e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.NoError(t, err)
	assert.Equal(t, 2, s.count(s.requests, "GET"))
	assert.Equal(t, 1, s.count(s.requests, "POST"))
}

func TestExecRefused(t *testing.T) {
	for _, tt := range []struct {
		name      string
		behaviour execBehaviour
		pod       string
		prepare   func(s *apiServer)
		want      string
		get, post int
		throttled time.Duration
	}{
		{name: "nothing granted", behaviour: execBehaviour{denyCreate: true}, want: "grant get and create on pods/exec", get: 1, post: 1},
		{name: "no such pod", pod: "other", want: `404 Not Found: pods "other" not found`, get: 1},
		{name: "too many requests", behaviour: execBehaviour{throttle: 1, retryAfter: "7"}, want: "429", get: 1, throttled: 7 * time.Second},
		{name: "too many requests, no time told", behaviour: execBehaviour{throttle: 1}, want: "429", get: 1, throttled: defaultRetryAfter},
		{
			name: "too many requests, for ever", behaviour: execBehaviour{throttle: 1, retryAfter: "999999999"}, want: "429", get: 1,
			throttled: maxRetryAfter,
		},
		{
			name: "too many requests over SPDY", behaviour: execBehaviour{throttle: 1, retryAfter: "7"}, want: "429", post: 1,
			throttled: 7 * time.Second,
			prepare:   func(s *apiServer) { s.boxes["prefer"] = echo },
		},
		{name: "unknown token", want: "401 Unauthorized; check the credentials", prepare: func(s *apiServer) { s.token = "another" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newAPIServer(t)
			s.boxes["driver-n1"], s.exec = echo, tt.behaviour
			e, in := s.connect(), inDriver
			if tt.pod != "" {
				in.pod = tt.pod
			}
			if tt.prepare != nil {
				tt.prepare(s)
			}
			if tt.get == 0 && tt.post == 1 {
				e.preferSPDY(in.namespace)
			}
			_, err := e.exec(soon(t), in, []string{"a"}, newOutput())
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "first", "no token in a message")
			assert.Equal(t, tt.get, s.count(s.requests, "GET"))
			assert.Equal(t, tt.post, s.count(s.requests, "POST"))
			wait, asked := throttled(err)
			assert.Equal(t, tt.throttled, wait)
			assert.Equal(t, tt.throttled > 0, asked)
		})
	}
}

// What client-go's own function for the fallback must recognise: that of another module's package never would.
func TestFallsBack(t *testing.T) {
	assert.True(t, fallsBack(&httpstream.UpgradeFailureError{Cause: &refusal{code: http.StatusForbidden}}))
	assert.True(t, fallsBack(fmt.Errorf("exec: %w", &httpstream.UpgradeFailureError{Cause: &refusal{code: http.StatusBadGateway}})))
	assert.False(t, fallsBack(&httpstream.UpgradeFailureError{Cause: &refusal{code: http.StatusTooManyRequests}}))
	assert.False(t, fallsBack(&httpstream.UpgradeFailureError{Cause: &refusal{code: http.StatusUnauthorized}}))
	assert.False(t, fallsBack(io.ErrUnexpectedEOF))
}

func TestExecStartError(t *testing.T) {
	for _, spdy := range []bool{false, true} {
		s := newAPIServer(t)
		s.exec.noWebSocket = spdy
		s.boxes["driver-n1"] = func(argv []string, _, _ io.Writer, _ <-chan struct{}) (int, error) { return 0, notStarted(argv[0]) }
		_, err := s.connect().exec(soon(t), inDriver, []string{"sh"}, newOutput())
		var start *startError
		require.ErrorAs(t, err, &start)
		assert.True(t, missing(err), err)
	}
}

// flood writes without end, until the client is gone.
func flood(_ []string, stdout, stderr io.Writer, gone <-chan struct{}) (int, error) {
	chunk := []byte(strings.Repeat("0123456789abcdef", 4096))
	_, _ = stderr.Write(chunk)
	_, _ = stderr.Write(chunk)
	for {
		select {
		case <-gone:
			return 0, nil
		default:
			if _, err := stdout.Write(chunk); err != nil {
				return 0, nil //nolint:nilerr // the client is gone
			}
		}
	}
}

func TestExecFlood(t *testing.T) {
	for _, spdy := range []bool{false, true} {
		s := newAPIServer(t)
		s.boxes["driver-n1"], s.exec.noWebSocket = flood, spdy
		e, out := s.connect(), newOutput()
		out.stdout.limit = 1 << 20
		code, err := e.exec(soon(t), inDriver, []string{"a"}, out)
		require.NoError(t, err)
		assert.Equal(t, -1, code)
		assert.True(t, out.stdout.truncated)
		assert.Equal(t, 1<<20, len(out.stdout.data)) //nolint:testifylint // Len would print all of it
		assert.True(t, strings.HasPrefix(string(out.stdout.data), "0123456789abcdef0123"))
		assert.LessOrEqual(t, len(out.stderr.data), maxStderr)
	}
}

// All of what is printed comes, also where it is much and the end follows at once.
func TestExecMuch(t *testing.T) {
	want := strings.Repeat("a line of what a tool prints\n", 40_000)
	for _, spdy := range []bool{false, true} {
		s := newAPIServer(t)
		s.boxes["driver-n1"] = func(_ []string, stdout, _ io.Writer, _ <-chan struct{}) (int, error) {
			_, err := io.WriteString(stdout, want)
			return 0, err
		}
		s.exec.noWebSocket = spdy
		out := newOutput()
		_, err := s.connect().exec(soon(t), inDriver, []string{"a"}, out)
		require.NoError(t, err)
		assert.True(t, want == string(out.stdout.data), "%d bytes of %d", len(out.stdout.data), len(want)) //nolint:testifylint // Equal would print all of it
	}
}

// Whatever waits comes back when the context ends, and leaves no goroutine behind (see TestMain).
func TestExecCutOff(t *testing.T) {
	hang := func(_ []string, stdout, _ io.Writer, gone <-chan struct{}) (int, error) {
		fmt.Fprint(stdout, "begun")
		<-gone
		return 0, nil
	}
	for _, spdy := range []bool{false, true} {
		for _, frozen := range []bool{false, true} {
			for _, cancelled := range []bool{false, true} {
				t.Run(fmt.Sprintf("spdy=%t frozen=%t cancelled=%t", spdy, frozen, cancelled), func(t *testing.T) {
					s := newAPIServer(t)
					s.boxes["driver-n1"], s.exec.noWebSocket = hang, spdy
					e := s.connect()
					if spdy {
						e.preferSPDY(defaultNamespace)
					}
					if frozen {
						s.exec.freeze = make(chan struct{})
						t.Cleanup(func() { close(s.exec.freeze) })
					}
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					want := context.DeadlineExceeded
					if cancelled {
						ctx, cancel = context.WithCancel(t.Context())
						time.AfterFunc(100*time.Millisecond, cancel)
						want = context.Canceled
					}
					out, began := newOutput(), time.Now()
					_, err := e.exec(ctx, inDriver, []string{"a"}, out)
					require.ErrorIs(t, err, want)
					assert.Less(t, time.Since(began), 10*time.Second)
					assert.Equal(t, !frozen, out.began)
				})
			}
		}
	}
}

func TestExecBrokenConnection(t *testing.T) {
	for _, spdy := range []bool{false, true} {
		s := newAPIServer(t)
		s.exec.noWebSocket = spdy
		s.boxes["driver-n1"] = func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) {
			s.CloseClientConnections()
			panic(http.ErrAbortHandler)
		}
		_, err := s.connect().exec(soon(t), inDriver, []string{"a"}, newOutput())
		require.Error(t, err)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
	}
}

// A token that was rotated is used with the next exec.
func TestExecTokenRotated(t *testing.T) {
	s := newAPIServer(t)
	s.boxes["driver-n1"] = echo
	e := s.connect()
	_, err := e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.NoError(t, err)
	s.set(func() { s.token = "second" })
	_, err = e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.ErrorContains(t, err, "401")
	s.write("token", "second\n")
	_, err = e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.NoError(t, err)
}

func TestExecUntrusted(t *testing.T) {
	s := newAPIServer(t)
	s.boxes["driver-n1"] = echo
	e := s.connect()
	e.config.CAFile = ""
	e.dialer.config.CAFile = ""
	_, err := e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.ErrorContains(t, err, "certificate")
	assert.Zero(t, s.count(s.requests, "GET"), "nothing is sent to a server that is not trusted")
}

// An HTTP proxy is passed by CONNECT, with both protocols.
func TestExecThroughProxy(t *testing.T) {
	connects := make(chan string, 8)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connects <- r.Method + " " + r.Header.Get("Proxy-Authorization")
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		server, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		client, ahead, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(server, ahead)
			_ = server.Close()
		}()
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}))
	t.Cleanup(proxy.Close)
	s := newAPIServer(t)
	s.boxes["driver-n1"] = echo
	through, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	e := s.connect()
	e.dialer.proxy = func(*http.Request) (*url.URL, error) { return through, nil }
	_, err = e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.ErrorContains(t, err, "407 Proxy Authentication Required")
	assert.Equal(t, "CONNECT ", <-connects)

	through.User = url.UserPassword("user", "secret")
	for _, spdy := range []bool{false, true} {
		if spdy {
			e.preferSPDY(defaultNamespace)
		}
		out := newOutput()
		_, err = e.exec(soon(t), inDriver, []string{"a"}, out)
		require.NoError(t, err)
		assert.Equal(t, `["a"]`, string(out.stdout.data))
		assert.Equal(t, "CONNECT Basic dXNlcjpzZWNyZXQ=", <-connects)
	}
	through.Host = "127.0.0.1:1"
	_, err = e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
}

// A SOCKS proxy, as a kubeconfig may name one.
func TestExecThroughSOCKS(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	s := newAPIServer(t)
	s.boxes["driver-n1"] = echo
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = client.Close() }()
		request := make([]byte, 262)
		if _, err := io.ReadFull(client, request[:3]); err != nil { // version, one method, none
			return
		}
		_, _ = client.Write([]byte{5, 0})
		if _, err := io.ReadFull(client, request[:10]); err != nil { // version, connect, 0, IPv4, address, port
			return
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.Listener.Addr().String())
		if err != nil {
			return
		}
		_, _ = client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		_, _ = io.Copy(client, server)
	}()
	e := s.connect()
	e.dialer.proxy = func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: "socks5", Host: listener.Addr().String()}, nil
	}
	out := newOutput()
	_, err = e.exec(soon(t), inDriver, []string{"a"}, out)
	require.NoError(t, err)
	assert.Equal(t, `["a"]`, string(out.stdout.data))

	e.dialer.proxy = func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "gopher", Host: "a"}, nil }
	_, err = e.exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.ErrorContains(t, err, `a proxy of the kind "gopher" is not supported`)
}

func TestHostPort(t *testing.T) {
	for text, want := range map[string]string{
		"https://a": "a:443", "http://a": "a:80", "socks5://a": "a:1080", "https://[fd00::1]": "[fd00::1]:443", "https://a:6443": "a:6443",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, hostPort(u))
	}
}

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		code int
		want string
	}{
		{name: "success", data: status(0, nil)},
		{name: "a code", data: status(143, nil), code: 143},
		{name: "nothing", want: "the connection ended before the command did"},
		{name: "garbage", data: []byte("hello"), want: `read the status "hello"`},
		{name: "not started", data: status(0, notStarted("sh")), want: "executable file not found"},
		{name: "no code", data: []byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{}}`), want: "no exit code"},
		{
			name: "a code out of range", want: "no exit code",
			data: []byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"256"}]}}`),
		},
	} {
		code, err := exitCode(tt.data)
		if tt.want != "" {
			require.ErrorContains(t, err, tt.want, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.code, code, tt.name)
	}
}
