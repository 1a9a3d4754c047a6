// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// place is a container in which commands are run.
type place struct{ namespace, pod, container string }

// String names the container in messages.
func (p place) String() string {
	return fmt.Sprintf("container %s of pod %s/%s", p.container, p.namespace, p.pod)
}

// executor runs a command in a container.
type executor interface {
	// exec runs argv and fills out; it returns the exit code. An error is a *startError if the container's runtime could not
	// start the command; any other means that the container could not be reached, or that the command did not end before
	// the context did. A command that is still running then is left behind.
	exec(ctx context.Context, in place, argv []string, out *output) (exitCode int, err error)
}

// startError is why a container's runtime did not run a command.
type startError struct{ message string }

// Error implements error.
func (s *startError) Error() string { return "the command could not be run: " + excerpt(s.message) }

// spdyKeep is for how long a namespace in which only SPDY works is asked by SPDY at once.
const spdyKeep = 10 * time.Minute

// execer runs commands through the API server of one cluster: over a WebSocket, or over SPDY where that is refused, as by
// an API server before 1.30, by a proxy, or where only create is granted on pods/exec.
//
// It does not use client-go's executors. They leave goroutines behind where an exec is cut off, wait without a bound for the
// answer to a SPDY upgrade, and drop Retry-After.
type execer struct {
	config *rest.Config
	dialer *dialer
	client rest.Interface // builds the URLs
	leave  transport.WrapperFunc
	now    func() time.Time

	mu   sync.Mutex
	spdy map[string]time.Time // until when, by namespace
}

var _ executor = (*execer)(nil)

func newExecer(config *rest.Config, client rest.Interface) *execer {
	return &execer{
		config: config, dialer: newDialer(config), client: client, leave: kube.Leaving(config), now: time.Now,
		spdy: make(map[string]time.Time),
	}
}

func (e *execer) exec(ctx context.Context, in place, argv []string, out *output) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes what is left open
	target := e.client.Post().Resource("pods").Namespace(in.namespace).Name(in.pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: in.container, Command: argv, Stdout: true, Stderr: true},
			scheme.ParameterCodec).URL()
	if err := e.run(ctx, in.namespace, target, out); err != nil {
		return 0, fmt.Errorf("kubeexec: exec in %s: %w", in, cutOff(ctx, err))
	}
	if out.stdout.truncated {
		return -1, nil
	}
	code, err := exitCode(out.status.data)
	if err != nil {
		return 0, fmt.Errorf("kubeexec: exec in %s: %w", in, err)
	}
	return code, nil
}

// cutOff words the error of a connection that the context has ended: "use of closed network connection", "i/o timeout".
func cutOff(ctx context.Context, err error) error {
	switch cause := ctx.Err(); {
	case errors.Is(err, kube.ErrCredentials):
		return err
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no end within the timeout: %w; the API server, the kubelet or the tool hangs", context.DeadlineExceeded)
	case cause != nil:
		return cause
	}
	return err
}

func (e *execer) run(ctx context.Context, namespace string, target *url.URL, out *output) error {
	if e.prefersSPDY(namespace) {
		return e.overSPDY(ctx, target, out)
	}
	err := e.overWebSocket(ctx, target, out)
	if err == nil || !fallsBack(err) || ctx.Err() != nil {
		return err
	}
	spdyErr := e.overSPDY(ctx, target, out)
	switch {
	case out.began: // the protocol works, whatever became of the command
		e.preferSPDY(namespace)
		return spdyErr
	case refusalOf(spdyErr) != nil:
		return spdyErr // of the same API server, about the same
	}
	return fmt.Errorf("%w; then over SPDY: %w", err, spdyErr)
}

// fallsBack tells whether another protocol may do. A server that asks for fewer requests is sent none, and one that does not
// know us, or not the pod, would say so again.
func fallsBack(err error) bool {
	if !httpstream.IsUpgradeFailure(err) {
		return false
	}
	r := refusalOf(err)
	return r == nil || !r.throttled() && r.code != http.StatusUnauthorized && r.code != http.StatusNotFound
}

func (e *execer) prefersSPDY(namespace string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now().Before(e.spdy[namespace])
}

func (e *execer) preferSPDY(namespace string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spdy[namespace] = e.now().Add(spdyKeep)
}

// upgrade sends a request with the cluster's credentials, a token read from its file anew.
func (e *execer) upgrade(
	ctx context.Context, method string, target *url.URL, header http.Header, base http.RoundTripper,
) (*http.Response, error) {
	wrapped, err := rest.HTTPWrappersForConfig(e.config, base)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	maps.Copy(request.Header, header)
	return e.leave(wrapped).RoundTrip(request)
}

// exitCode reads what the server says of the end of a command.
func exitCode(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, errors.New("the connection ended before the command did")
	}
	var status metav1.Status
	if err := json.Unmarshal(data, &status); err != nil {
		return 0, fmt.Errorf("read the status %q: %w", excerpt(string(data)), err)
	}
	switch {
	case status.Status == metav1.StatusSuccess:
		return 0, nil
	case status.Reason != remotecommand.NonZeroExitCodeReason || status.Details == nil:
		return 0, &startError{message: status.Message}
	}
	for _, cause := range status.Details.Causes {
		if cause.Type != remotecommand.ExitCodeCauseType {
			continue
		}
		if code, err := strconv.ParseUint(cause.Message, 10, 8); err == nil {
			return int(code), nil
		}
	}
	return 0, fmt.Errorf("no exit code in the status %q", excerpt(string(data)))
}
