// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		{
			name: "not started, as a kubelet says it", want: "executable file not found",
			data: []byte(`{"status":"Failure","reason":"InternalError","message":"executable file not found","details":{"causes":[{"message":"x"}]},"code":500}`),
		},
		{name: "no details", data: []byte(`{"status":"Failure","reason":"NonZeroExitCode","message":"ended"}`), want: "could not be run: ended"},
		{
			name: "a code behind something else", code: 7,
			data: []byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"Other","message":"3"},{"reason":"ExitCode","message":"7"}]}}`),
		},
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
