// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type closed struct{ done chan struct{} }

func (closed) Read([]byte) (int, error) { return 0, errors.New("nobody reads it") }
func (c closed) Close() error           { close(c.done); return nil }

// A request that waits for a credential program ends with its context and reports why. Its late answer is closed, and the number of
// requests that were given up is bounded.
func TestLeaving(t *testing.T) {
	synctest.Test(t, testLeaving)
}

func testLeaving(t *testing.T) {
	t.Helper()
	program := make(chan struct{})
	late := closed{make(chan struct{})}
	leave := Leaving(&rest.Config{ExecProvider: &api.ExecConfig{Command: "hangs"}})
	hangs := leave(roundTripFunc(func(*http.Request) (*http.Response, error) {
		<-program
		return &http.Response{StatusCode: http.StatusOK, Body: late}, nil
	}))
	send := func(client http.RoundTripper, longest time.Duration) error {
		i := emptyInformer("pods")
		request, err := http.NewRequestWithContext(withObserver(t.Context(), i), http.MethodGet, "http://localhost/", http.NoBody)
		require.NoError(t, err)
		response, err := withStatus(&http.Client{Transport: client}, longest).Do(request)
		if err == nil {
			_ = response.Body.Close()
		} else {
			require.ErrorIs(t, i.Err(), ErrCredentials)
		}
		return err
	}
	require.ErrorIs(t, send(hangs, time.Second), ErrCredentials)
	waiting := hangs.(*leaving).waiting
	require.Len(t, waiting, 1)
	for range maxStuck - 1 {
		waiting <- struct{}{}
	}
	require.ErrorIs(t, send(leave(roundTripFunc(nil)), time.Second), ErrCredentials, "another transport of the same program")
	close(program)
	<-late.done
	synctest.Wait()
	assert.Len(t, waiting, maxStuck-1)

	require.NoError(t, send(leave(roundTripFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})), time.Minute))
	failed := errors.New("connection refused")
	_, err := leave(roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, failed })).RoundTrip(httpRequest(t))
	require.ErrorIs(t, err, failed)
}

func httpRequest(t *testing.T) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", http.NoBody)
	require.NoError(t, err)
	return request
}

// Without a program the transport stays as it is.
func TestTransportWithoutPlugin(t *testing.T) {
	assert.Same(t, http.DefaultTransport, Leaving(&rest.Config{})(http.DefaultTransport))
}
