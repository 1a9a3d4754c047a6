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
	// maxStuck bounds the requests that wait for a program at a time.
	maxStuck = 1024
	// stuckWait is how long a request may take to end after its context. One that waits for the API server takes no time.
	stuckWait = 200 * time.Millisecond
)

// ErrCredentials is that a program which was started for credentials has not ended.
var ErrCredentials = errors.New("the program that the kubeconfig file has started for credentials does not end; " +
	"run it by hand to see what it waits for, or use token_file")

// HTTPClient returns what a cluster is asked with. It is rest.HTTPClientFor, but that a request ends with its context also where
// the kubeconfig has a program started for credentials.
func HTTPClient(config *rest.Config) (*http.Client, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: Leaving(config)(client.Transport), Timeout: client.Timeout}, nil
}

// Leaving returns what makes a transport leave a request behind that waits for a program which was started for credentials.
// client-go waits for its end without a bound, whatever becomes of the request, and all others meanwhile wait with it.
func Leaving(config *rest.Config) transport.WrapperFunc {
	if config.ExecProvider == nil {
		return func(next http.RoundTripper) http.RoundTripper { return next }
	}
	waiting := make(chan struct{}, maxStuck)
	return func(next http.RoundTripper) http.RoundTripper { return &leaving{next, waiting} }
}

type leaving struct {
	next    http.RoundTripper
	waiting chan struct{} // as many as may wait, those among them that were left behind
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
	answers := make(chan answer) // without room: what nobody takes is closed
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
