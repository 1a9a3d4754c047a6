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

// informerKey is under which the context of a request has the informer that makes it.
type informerKey struct{}

// onceKey is under which the context of a request that is made once has where to note for how long the API server asks to be
// left alone (*time.Duration). client-go would wait for so long and ask again, ten times.
type onceKey struct{}

// longestWait is how long the API server may take for its answer: it takes at most a minute for its own part
// (--request-timeout). A watch it begins at once.
const longestWait = 70 * time.Second

// reporting returns a client whose requests wait no longer than that for an answer, and tell the informers that make them how
// they fare.
func reporting(client *http.Client, longest time.Duration) *http.Client {
	reports := *client
	if reports.Transport == nil {
		reports.Transport = http.DefaultTransport
	}
	reports.Transport = reporter{bounded{reports.Transport, longest}}
	return &reports
}

// bounded gives up a request that is not answered to the end in time. The answer to a watch need only begin.
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
		response.Body = &cancelling{response.Body, cancel, timer, late}
		return response, nil
	}
	inTime := timer.Stop()
	cancel()
	if err == nil {
		_ = response.Body.Close() // of a request that is cancelled
	}
	if !inTime && !errors.Is(err, ErrCredentials) {
		err = fmt.Errorf("no answer in %s", t.longest)
	}
	return nil, err
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// cancelling is the body of an answer, with which its request ends.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
	timer  *time.Timer
	late   chan struct{} // closed when it had to end
}

// Read implements io.Reader.
func (b *cancelling) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		select {
		case <-b.late:
			err = errLate
		default:
		}
	}
	return n, err
}

var errLate = errors.New("the answer has begun and does not end")

// Close implements io.Closer.
func (b *cancelling) Close() error {
	defer b.cancel()
	b.timer.Stop()
	return b.ReadCloser.Close()
}

type reporter struct{ next http.RoundTripper }

var _ utilnet.RoundTripperWrapper = reporter{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (t reporter) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t reporter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if later, ok := r.Context().Value(onceKey{}).(*time.Duration); ok && response != nil {
		seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
		*later = time.Duration(seconds) * time.Second
		response.Header.Del("Retry-After")
	}
	informer, ok := r.Context().Value(informerKey{}).(*Informer)
	if !ok || r.Context().Err() != nil {
		return response, err
	}
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	informer.answered(isWatch(r), status, err)
	return response, err
}
