// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// failureKeep is how long a failure counts after it was last seen. client-go tries again within a minute, and then waits for an answer.
const failureKeep = 90*time.Second + longestWait

// Informer has the objects of one kind as they were last known, and why they could not be read lately.
type Informer struct {
	cache.SharedIndexInformer
	subject   string // "pods of node n1"
	transform cache.TransformFunc
	now       func() time.Time

	mu      sync.Mutex
	failed  time.Time
	failure error
}

// NewInformer returns an Informer that does not watch yet. It keeps what transform returns for an object, which must have metadata with
// at least name, namespace and UID. subject names the objects in messages.
func NewInformer(informer cache.SharedIndexInformer, subject string, transform cache.TransformFunc) (*Informer, error) {
	i := &Informer{SharedIndexInformer: informer, subject: subject, transform: transform, now: time.Now}
	if err := errors.Join(
		informer.SetTransform(func(object any) (any, error) {
			if stored, ok := transformed(object); ok {
				return stored, nil
			}
			return transform(object)
		}),
		informer.SetWatchErrorHandlerWithContext(i.watchFailed),
	); err != nil {
		return nil, fmt.Errorf("kube: watch %s: %w", subject, err)
	}
	return i, nil
}

// watchFailed replaces client-go's own handler, which logs every attempt.
func (i *Informer) watchFailed(ctx context.Context, _ *cache.Reflector, err error) {
	switch {
	case ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return // a watch ends now and then, and the next one starts
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failed, i.failure = i.now(), err
}

// RunWithContext implements cache.SharedIndexInformer.
func (i *Informer) RunWithContext(ctx context.Context) {
	i.SharedIndexInformer.RunWithContext(withObserver(withTransform(ctx, i.transform), i))
}

// answered implements requestObserver. client-go reports a list that fails, but not a watch that the API server does not accept or is too busy
// for: it silently tries again for as long as that lasts.
func (i *Informer) answered(watch bool, status int, err error) {
	switch {
	case err == nil && (status == http.StatusTooManyRequests || status >= http.StatusInternalServerError):
		err = fmt.Errorf("the API server answers %d %s", status, http.StatusText(status))
	case err == nil && (status >= http.StatusBadRequest || !watch):
		return // watchFailed learns why a request was refused, and a list without a watch is not a success
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failed, i.failure = i.now(), err
}

// Err returns why the objects could not be read lately, a *gpu.Failure; nil if they could.
func (i *Informer) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failure == nil || i.now().Sub(i.failed) > failureKeep {
		return nil
	}
	hint := "the last known state is used until the API server answers"
	switch {
	case apierrors.IsForbidden(i.failure):
		hint = "grant list and watch"
	case apierrors.IsUnauthorized(i.failure):
		hint = "check the credentials"
	case errors.As(i.failure, new(*tls.CertificateVerificationError)):
		hint = "check the certificate authority, which is read when the collector starts"
	case !i.HasSynced():
		hint = "check the address of the API server, and the network to it; nothing is known until it answers"
	}
	return &gpu.Failure{Reason: ReasonOf(i.failure), Err: fmt.Errorf("kube: watch %s: %w; %s", i.subject, i.failure, hint)}
}
