// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// spdyKeep is how long SPDY is tried first in a namespace in which only SPDY works.
const spdyKeep = 10 * time.Minute

// Client runs commands through the API server of one cluster: over a WebSocket, or over SPDY if that is refused, as by an API server before
// 1.30, by a proxy, or if only create is granted on pods/exec.
//
// It does not use client-go's executors: they leave goroutines behind when an exec is cut off, wait without a bound for the
// answer to a SPDY upgrade, and drop Retry-After.
type Client struct {
	config *rest.Config
	dialer *dialer
	client rest.Interface
	leave  transport.WrapperFunc
	now    func() time.Time

	mu   sync.Mutex
	spdy map[string]time.Time // until when, by namespace
}

var _ Executor = (*Client)(nil)

// NewClient returns a client of an API server. client builds the URLs.
func NewClient(config *rest.Config, client rest.Interface) *Client {
	return &Client{
		config: config, dialer: newDialer(config), client: client, leave: kube.Leaving(config), now: time.Now,
		spdy: make(map[string]time.Time),
	}
}

// Exec implements Executor.
func (e *Client) Exec(ctx context.Context, container Container, argv []string, out *Output) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes what is left open
	target := e.client.Post().Resource("pods").Namespace(container.Namespace).Name(container.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container.Name, Command: argv, Stdout: true, Stderr: true},
			scheme.ParameterCodec).URL()
	if err := e.run(ctx, container.Namespace, target, out); err != nil {
		return 0, failed(container, out.started, cutOff(ctx, err))
	}
	if out.stdout.truncated {
		return -1, nil
	}
	code, err := exitCode(out.status.data)
	if err != nil {
		return 0, failed(container, true, err)
	}
	return code, nil
}

// cutOff replaces the error of a connection that the context has closed, such as "use of closed network connection".
func cutOff(ctx context.Context, err error) error {
	switch cause := ctx.Err(); {
	case errors.Is(err, kube.ErrCredentials):
		return err
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("it did not end within the timeout: %w; the API server, the kubelet or the tool hangs", context.DeadlineExceeded)
	case cause != nil:
		return cause
	}
	return err
}

func (e *Client) run(ctx context.Context, namespace string, target *url.URL, out *Output) error {
	if e.prefersSPDY(namespace) {
		return e.overSPDY(ctx, target, out)
	}
	err := e.overWebSocket(ctx, target, out)
	if err == nil || !fallsBack(err) || ctx.Err() != nil {
		return err
	}
	spdyErr := e.overSPDY(ctx, target, out)
	switch {
	case out.started: // the protocol works, even if the command failed
		e.preferSPDY(namespace)
		return spdyErr
	case refusalOf(spdyErr) != nil:
		return spdyErr // the same API server refuses the same
	}
	return fmt.Errorf("%w; then over SPDY: %w", err, spdyErr)
}

// fallsBack reports whether another protocol may work. A server that asks for fewer requests gets none, and one that does not
// accept the credentials or does not know the pod would refuse again.
func fallsBack(err error) bool {
	if !httpstream.IsUpgradeFailure(err) {
		return false
	}
	r := refusalOf(err)
	return r == nil || !r.throttled() && r.Code != http.StatusUnauthorized && r.Code != http.StatusNotFound
}

func (e *Client) prefersSPDY(namespace string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now().Before(e.spdy[namespace])
}

func (e *Client) preferSPDY(namespace string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spdy[namespace] = e.now().Add(spdyKeep)
}

// upgrade sends a request with the cluster's credentials; a token is read from its file again when the file changes.
func (e *Client) upgrade(
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

// overSPDY runs a request for an exec over SPDY.
func (e *Client) overSPDY(ctx context.Context, target *url.URL, out *Output) error {
	base := &spdyUpgrade{dialer: e.dialer}
	header := http.Header{}
	header.Add(httpstream.HeaderProtocolVersion, remotecommand.StreamProtocolV5Name)
	header.Add(httpstream.HeaderProtocolVersion, remotecommand.StreamProtocolV4Name)
	response, err := e.upgrade(ctx, http.MethodPost, target, header, base)
	if err != nil {
		return err
	}
	defer func() { _ = base.conn.Close() }()
	if response.StatusCode != http.StatusSwitchingProtocols {
		return refused(response)
	}
	switch p := response.Header.Get(httpstream.HeaderProtocolVersion); p {
	case remotecommand.StreamProtocolV5Name, remotecommand.StreamProtocolV4Name:
	default:
		return fmt.Errorf("the server chose the protocol %q", p)
	}
	out.started = true
	return out.readSPDY(base.conn)
}

// overWebSocket runs a request for an exec over a WebSocket. A refusal of the upgrade is an httpstream.UpgradeFailureError.
func (e *Client) overWebSocket(ctx context.Context, target *url.URL, out *Output) error {
	base := &webSocket{dialer: e.dialer}
	response, err := e.upgrade(ctx, http.MethodGet, target, nil, base)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if base.conn == nil {
		return &httpstream.UpgradeFailureError{Cause: refused(response)}
	}
	defer func() { _ = base.conn.Close() }()
	if p := base.conn.Subprotocol(); p != remotecommand.StreamProtocolV5Name {
		return &httpstream.UpgradeFailureError{Cause: fmt.Errorf("the server chose the protocol %q", p)}
	}
	out.started = true
	return out.readWebSocket(base.conn)
}
