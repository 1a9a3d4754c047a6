// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

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
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

var inDriver = Container{Namespace: exectest.Namespace, Pod: "driver-n1", Name: exectest.DriverContainer, ID: "first", HostPID: true}

// connect returns an execer for the server, configured as for a cluster.
func connect(t testing.TB, s *exectest.Server) *Client {
	t.Helper()
	c := s.Config()
	config, err := c.REST()
	require.NoError(t, err)
	clients, err := kube.NewClients(config)
	require.NoError(t, err)
	return NewClient(config, clients.Kubernetes.CoreV1().RESTClient())
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
		behaviour exectest.Behaviour
		requests  map[string]int
	}{
		{name: "over a WebSocket", requests: map[string]int{"GET": 2}},
		{name: "over SPDY where the server is older", behaviour: exectest.Behaviour{NoWebSocket: true}, requests: map[string]int{"GET": 1, "POST": 2}},
		{name: "over SPDY where only create is granted", behaviour: exectest.Behaviour{DenyGet: true}, requests: map[string]int{"GET": 1, "POST": 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := exectest.NewServer(t)
			s.Boxes["driver-n1"], s.Exec = echo, tt.behaviour
			e, out := connect(t, s), newOutput()
			code, err := e.Exec(soon(t), inDriver, []string{"a", "b c", "$d;\n"}, out)
			require.NoError(t, err)
			assert.Equal(t, 3, code)
			assert.Equal(t, `["a" "b c" "$d;\n"]`, string(out.stdout.data))
			assert.Equal(t, "to stderr", string(out.stderr.data))

			out.reset()
			_, err = e.Exec(soon(t), inDriver, []string{"a"}, out)
			require.NoError(t, err)
			assert.Equal(t, tt.requests, s.Requests, "what works is remembered")
			assert.Positive(t, s.Resumed, "TLS sessions are resumed")
		})
	}
}

func TestExecPrefersWebSocketAgain(t *testing.T) {
	s := exectest.NewServer(t)
	s.Boxes["driver-n1"], s.Exec = echo, exectest.Behaviour{NoWebSocket: true}
	e := connect(t, s)
	_, err := e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.NoError(t, err)
	s.Set(func() { s.Exec = exectest.Behaviour{} })
	now := time.Now()
	e.now = func() time.Time { return now.Add(spdyKeep + time.Second) }
	_, err = e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.NoError(t, err)
	assert.Equal(t, 2, s.Count(s.Requests, "GET"))
	assert.Equal(t, 1, s.Count(s.Requests, "POST"))
}

func TestExecFlood(t *testing.T) {
	for _, spdy := range []bool{false, true} {
		s := exectest.NewServer(t)
		s.Boxes["driver-n1"], s.Exec.NoWebSocket = exectest.Flood, spdy
		e, out := connect(t, s), newOutput()
		out.stdout.limit = 1 << 20
		code, err := e.Exec(soon(t), inDriver, []string{"a"}, out)
		require.NoError(t, err)
		assert.Equal(t, -1, code)
		assert.True(t, out.stdout.truncated)
		assert.Equal(t, 1<<20, len(out.stdout.data)) //nolint:testifylint // Len would print the whole output
		assert.True(t, strings.HasPrefix(string(out.stdout.data), "0123456789abcdef0123"))
		assert.LessOrEqual(t, len(out.stderr.data), maxStderr)
	}
}

// The complete output arrives, even if it is large and the stream ends immediately after it.
func TestExecMuch(t *testing.T) {
	want := strings.Repeat("a line of what a tool prints\n", 40_000)
	for _, spdy := range []bool{false, true} {
		s := exectest.NewServer(t)
		s.Boxes["driver-n1"] = func(_ []string, stdout, _ io.Writer, _ <-chan struct{}) (int, error) {
			_, err := io.WriteString(stdout, want)
			return 0, err
		}
		s.Exec.NoWebSocket = spdy
		out := newOutput()
		_, err := connect(t, s).Exec(soon(t), inDriver, []string{"a"}, out)
		require.NoError(t, err)
		assert.True(t, want == string(out.stdout.data), "%d bytes of %d", len(out.stdout.data), len(want)) //nolint:testifylint // Equal would print the whole output
	}
}

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		code int
		want string
	}{
		{name: "success", data: exectest.Status(0, nil)},
		{name: "a code", data: exectest.Status(143, nil), code: 143},
		{name: "nothing", want: "the connection ended before the command did"},
		{name: "garbage", data: []byte("hello"), want: `read the status "hello"`},
		{name: "not started", data: exectest.Status(0, exectest.NotStarted("sh")), want: "executable file not found"},
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
