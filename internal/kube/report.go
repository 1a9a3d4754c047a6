// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// informerKey is under which the context of a request has the informer that makes it.
type informerKey struct{}

// reporting returns a client whose requests tell the informers that make them how they fare.
func reporting(client *http.Client) *http.Client {
	reports := *client
	if reports.Transport == nil {
		reports.Transport = http.DefaultTransport
	}
	reports.Transport = reporter{reports.Transport}
	return &reports
}

type reporter struct{ next http.RoundTripper }

var _ utilnet.RoundTripperWrapper = reporter{}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (t reporter) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t reporter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	informer, ok := r.Context().Value(informerKey{}).(*Informer)
	if !ok || r.Context().Err() != nil {
		return response, err
	}
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	informer.answered(r.URL.Query().Get("watch") != "", status, err)
	return response, err
}
