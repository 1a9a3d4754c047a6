// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

func TestExecRefused(t *testing.T) {
	for _, tt := range []struct {
		name      string
		behaviour exectest.Behaviour
		pod       string
		prepare   func(s *exectest.Server)
		want      string
		get, post int
		throttled time.Duration
		reason    gpu.FailureReason // api_unreachable if it is not given
	}{
		{name: "nothing granted", reason: gpu.FailureAPIForbidden, behaviour: exectest.Behaviour{DenyCreate: true}, want: "grant get and create on pods/exec", get: 1, post: 1},
		{name: "no such pod", reason: gpu.FailureContainerMissing, pod: "other", want: `404 Not Found: pods "other" not found`, get: 1},
		{name: "too many requests", behaviour: exectest.Behaviour{Throttle: 1, RetryAfter: "7"}, want: "429", get: 1, throttled: 7 * time.Second},
		{name: "too many requests, no time given", behaviour: exectest.Behaviour{Throttle: 1}, want: "429", get: 1, throttled: defaultRetryAfter},
		{
			name: "too many requests, for ever", behaviour: exectest.Behaviour{Throttle: 1, RetryAfter: "999999999"}, want: "429", get: 1,
			throttled: maxRetryAfter,
		},
		{
			name: "too many requests over SPDY", behaviour: exectest.Behaviour{Throttle: 1, RetryAfter: "7"}, want: "429", post: 1,
			throttled: 7 * time.Second,
			prepare:   func(s *exectest.Server) { s.Boxes["prefer"] = echo },
		},
		{name: "unknown token", reason: gpu.FailureAPIUnauthorized, want: "401 Unauthorized; check the credentials", prepare: func(s *exectest.Server) { s.Token = "another" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := exectest.NewServer(t)
			s.Boxes["driver-n1"], s.Exec = echo, tt.behaviour
			e, container := connect(t, s), inDriver
			if tt.pod != "" {
				container.Pod = tt.pod
			}
			if tt.prepare != nil {
				tt.prepare(s)
			}
			if tt.get == 0 && tt.post == 1 {
				e.preferSPDY(container.Namespace)
			}
			_, err := e.Exec(soon(t), container, []string{"a"}, newOutput())
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "first", "no token in a message")
			assert.Equal(t, tt.get, s.Count(s.Requests, "GET"))
			assert.Equal(t, tt.post, s.Count(s.Requests, "POST"))
			assert.Equal(t, cmp.Or(tt.reason, gpu.FailureAPIUnreachable), gpu.FailureOf(err).Reason)
			wait, ok := Throttled(err)
			assert.Equal(t, tt.throttled, wait)
			assert.Equal(t, tt.throttled > 0, ok)
		})
	}
}

// client-go's own function must recognise the error that triggers the fallback. It would not recognise the type of another module.
func TestFallsBack(t *testing.T) {
	assert.True(t, fallsBack(&httpstream.UpgradeFailureError{Cause: &Refusal{Code: http.StatusForbidden}}))
	assert.True(t, fallsBack(fmt.Errorf("exec: %w", &httpstream.UpgradeFailureError{Cause: &Refusal{Code: http.StatusBadGateway}})))
	assert.False(t, fallsBack(&httpstream.UpgradeFailureError{Cause: &Refusal{Code: http.StatusTooManyRequests}}))
	assert.False(t, fallsBack(&httpstream.UpgradeFailureError{Cause: &Refusal{Code: http.StatusUnauthorized}}))
	assert.False(t, fallsBack(io.ErrUnexpectedEOF))
}

func TestExecStartError(t *testing.T) {
	for _, spdy := range []bool{false, true} {
		s := exectest.NewServer(t)
		s.Exec.NoWebSocket = spdy
		s.Boxes["driver-n1"] = func(argv []string, _, _ io.Writer, _ <-chan struct{}) (int, error) {
			return 0, exectest.NotStarted(argv[0])
		}
		_, err := connect(t, s).Exec(soon(t), inDriver, []string{"sh"}, newOutput())
		var start *StartError
		require.ErrorAs(t, err, &start)
		assert.True(t, missing(err), err)
		assert.Equal(t, gpu.FailureExec, gpu.FailureOf(err).Reason)
	}
}

// Every waiting call returns when the context ends and leaves no goroutine behind (see TestMain).
func TestExecCutOff(t *testing.T) {
	hang := func(_ []string, stdout, _ io.Writer, done <-chan struct{}) (int, error) {
		fmt.Fprint(stdout, "begun")
		<-done
		return 0, nil
	}
	for _, spdy := range []bool{false, true} {
		for _, frozen := range []bool{false, true} {
			for _, cancelled := range []bool{false, true} {
				t.Run(fmt.Sprintf("spdy=%t frozen=%t cancelled=%t", spdy, frozen, cancelled), func(t *testing.T) {
					t.Parallel() // it waits
					s := exectest.NewServer(t)
					s.Boxes["driver-n1"], s.Exec.NoWebSocket = hang, spdy
					e := connect(t, s)
					if spdy {
						e.preferSPDY(exectest.Namespace)
					}
					if frozen {
						s.Exec.Freeze = make(chan struct{})
						t.Cleanup(func() { close(s.Exec.Freeze) })
					}
					out := newOutput()
					for wait := 100 * time.Millisecond; ; wait *= 2 { // until a busy machine has begun in that time
						ctx, cancel := context.WithTimeout(t.Context(), wait)
						want := context.DeadlineExceeded
						if cancelled {
							cancel()
							ctx, cancel = context.WithCancel(t.Context())
							time.AfterFunc(wait, cancel)
							want = context.Canceled
						}
						out.reset()
						_, err := e.Exec(ctx, inDriver, []string{"a"}, out)
						cancel()
						require.ErrorIs(t, err, want)
						if !cancelled {
							assert.Equal(t, gpu.FailureTimeout, gpu.FailureOf(err).Reason)
						}
						if frozen || out.started || wait > time.Minute {
							break
						}
					}
					assert.Equal(t, !frozen, out.started)
				})
			}
		}
	}
}

func TestExecBrokenConnection(t *testing.T) {
	for _, spdy := range []bool{false, true} {
		s := exectest.NewServer(t)
		s.Exec.NoWebSocket = spdy
		s.Boxes["driver-n1"] = func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) {
			s.CloseClientConnections()
			panic(http.ErrAbortHandler)
		}
		_, err := connect(t, s).Exec(soon(t), inDriver, []string{"a"}, newOutput())
		require.Error(t, err)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, gpu.FailureExec, gpu.FailureOf(err).Reason, "the API server was reached")
	}
}

// A token that was rotated is used with the next exec.
func TestExecTokenRotated(t *testing.T) {
	s := exectest.NewServer(t)
	s.Boxes["driver-n1"] = echo
	e := connect(t, s)
	_, err := e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.NoError(t, err)
	s.Set(func() { s.Token = "second" })
	_, err = e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.ErrorContains(t, err, "401")
	s.Write("token", "second\n")
	_, err = e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.NoError(t, err)
}

func TestExecUntrusted(t *testing.T) {
	s := exectest.NewServer(t)
	s.Boxes["driver-n1"] = echo
	e := connect(t, s)
	e.config.CAFile = ""
	e.dialer.config.CAFile = ""
	_, err := e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.ErrorContains(t, err, "certificate")
	assert.Equal(t, gpu.FailureAPIUnreachable, gpu.FailureOf(err).Reason)
	assert.Zero(t, s.Count(s.Requests, "GET"), "nothing is sent to a server that is not trusted")
}
