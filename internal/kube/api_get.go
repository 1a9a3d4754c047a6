// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// getter is a client of client-go for the objects of one kind.
type getter[T any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (T, error)
}

// getOnce requests an object, once. retryAfter is how long the API server asks to be left alone; zero if it does not.
func getOnce[T any](ctx context.Context, source getter[T], name string) (object T, retryAfter time.Duration, err error) {
	object, err = source.Get(withRetryAfter(ctx, &retryAfter), name, metav1.GetOptions{})
	return object, retryAfter, err
}

// notServed reports whether the kind was not found in the requested version, rather than the object: an API server answers that with
// something else than a Status.
func notServed(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
