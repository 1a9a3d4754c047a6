// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// longestWait is how long a request may take. The API server takes at most a minute for its own part (--request-timeout), and it
// answers the start of a watch immediately.
const longestWait = 70 * time.Second

// requestObserver learns how the requests of an informer fare.
type requestObserver interface {
	// answered is called after each request: with the status of the answer, or an error without one.
	answered(watch bool, status int, err error)
}

// Keys of the values in the context of a request.
type (
	observerKey   struct{} // a requestObserver
	retryAfterKey struct{} // *time.Duration: the target of the Retry-After header of the answer
)

// withObserver returns a context whose requests report to an observer.
func withObserver(ctx context.Context, o requestObserver) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// withRetryAfter returns a context for a single request. It stores how long the API server asks to be left alone, and hides that from
// client-go, which would wait as long and repeat the request, ten times.
func withRetryAfter(ctx context.Context, retryAfter *time.Duration) context.Context {
	return context.WithValue(ctx, retryAfterKey{}, retryAfter)
}

// withStatus returns a client whose requests take no longer than a bound and report to the observer in their context.
func withStatus(client *http.Client, longest time.Duration) *http.Client {
	reporting := *client
	if reporting.Transport == nil {
		reporting.Transport = http.DefaultTransport
	}
	reporting.Transport = statusReporter{bounded{reporting.Transport, longest}}
	return &reporting
}

// statusReporter reports the status of answers.
type statusReporter struct{ next http.RoundTripper }

var _ utilnet.RoundTripperWrapper = statusReporter{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (t statusReporter) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t statusReporter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if retryAfter, ok := r.Context().Value(retryAfterKey{}).(*time.Duration); ok && response != nil {
		seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
		*retryAfter = time.Duration(seconds) * time.Second
		response.Header.Del("Retry-After")
	}
	observer, ok := r.Context().Value(observerKey{}).(requestObserver)
	if !ok || r.Context().Err() != nil {
		return response, err
	}
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	observer.answered(isWatch(r), status, err)
	return response, err
}

// bounded cancels a request whose answer is not complete in time. The answer to a watch only has to start.
type bounded struct {
	next    http.RoundTripper
	longest time.Duration
}

var _ utilnet.RoundTripperWrapper = bounded{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (t bounded) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	late := make(chan struct{})
	timer := time.AfterFunc(t.longest, func() { close(late); cancel() })
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err == nil && (!isWatch(r) || timer.Stop()) {
		response.Body = &boundedBody{response.Body, cancel, timer, late}
		return response, nil
	}
	inTime := timer.Stop()
	cancel()
	if err == nil {
		_ = response.Body.Close() // the request was cancelled
	}
	if !inTime && !errors.Is(err, ErrCredentials) {
		err = fmt.Errorf("no answer in %s", t.longest)
	}
	return nil, err
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// boundedBody is the body of an answer. Its request ends when it is closed.
type boundedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	timer  *time.Timer
	late   chan struct{} // closed when the time was up
}

var errIncomplete = errors.New("the answer has begun but does not end")

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		select {
		case <-b.late:
			err = errIncomplete
		default:
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	defer b.cancel()
	b.timer.Stop()
	return b.ReadCloser.Close()
}
