// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const (
	// maxStuck bounds the requests that wait for a credential program.
	maxStuck = 1024
	// stuckWait is how long a request may take to end after its context. A request that waits for the API server ends immediately.
	stuckWait = 200 * time.Millisecond
)

// ErrCredentials is the error of a request that waited for a credential program which does not end.
var ErrCredentials = errors.New("the credential program of the kubeconfig file does not end; " +
	"run it by hand to see what it waits for, or use token_file")

// HTTPClient returns a client for a cluster: the client of rest.HTTPClientFor, whose requests also end with their context if the kubeconfig
// file names a credential program.
func HTTPClient(config *rest.Config) (*http.Client, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: Leaving(config)(client.Transport), Timeout: client.Timeout}, nil
}

// Leaving returns a wrapper for a transport that gives up requests which wait for a credential program. client-go waits for the
// program's end without a bound, whatever happens to the request, and all other requests wait as well.
func Leaving(config *rest.Config) transport.WrapperFunc {
	if config.ExecProvider == nil {
		return func(next http.RoundTripper) http.RoundTripper { return next }
	}
	waiting := make(chan struct{}, maxStuck)
	return func(next http.RoundTripper) http.RoundTripper { return &leaving{next, waiting} }
}

type leaving struct {
	next    http.RoundTripper
	waiting chan struct{} // has room for maxStuck, including requests that were given up
}

var _ utilnet.RoundTripperWrapper = (*leaving)(nil)

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (l *leaving) WrappedRoundTripper() http.RoundTripper { return l.next }

type answer struct {
	response *http.Response
	err      error
}

// RoundTrip implements http.RoundTripper.
func (l *leaving) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	select {
	case l.waiting <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("kube: %w", ErrCredentials)
	}
	answers := make(chan answer) // unbuffered: an answer without a receiver is closed
	left, leave := context.WithCancel(context.Background())
	defer leave()
	go func() {
		defer func() { <-l.waiting }()
		response, err := l.next.RoundTrip(r)
		select {
		case answers <- answer{response, err}:
		case <-left.Done():
			if err == nil {
				_ = response.Body.Close()
			}
		}
	}()
	select {
	case a := <-answers:
		return a.response, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(stuckWait)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.response, a.err
	case <-timer.C:
		return nil, fmt.Errorf("kube: %w", ErrCredentials)
	}
}
