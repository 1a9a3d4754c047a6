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
)

// failureKeep is how long a failure counts after it was last seen. client-go tries again at the latest every minute, and then
// waits for an answer.
const failureKeep = 90*time.Second + longestWait

// Informer keeps the objects of one kind, as they were last known, and remembers why it cannot.
type Informer struct {
	cache.SharedIndexInformer
	what      string // "pods of node n1"
	transform cache.TransformFunc
	now       func() time.Time

	mu      sync.Mutex
	failed  time.Time
	failure error
}

// NewInformer prepares an informer. What is kept of an object is what transform returns; it must still be an object with
// metadata, of which only name, namespace and UID need be kept. what names the objects in messages.
func NewInformer(informer cache.SharedIndexInformer, what string, transform cache.TransformFunc) (*Informer, error) {
	i := &Informer{SharedIndexInformer: informer, what: what, transform: transform, now: time.Now}
	if err := errors.Join(
		informer.SetTransform(func(object any) (any, error) {
			if l, ok := object.(*listed); ok {
				return l.Object, nil
			}
			return transform(object)
		}),
		informer.SetWatchErrorHandlerWithContext(i.watchFailed),
	); err != nil {
		return nil, fmt.Errorf("kube: watch %s: %w", what, err)
	}
	return i, nil
}

// watchFailed takes the place of client-go's own handler, which would log every attempt.
func (i *Informer) watchFailed(ctx context.Context, _ *cache.Reflector, err error) {
	switch {
	case ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return // the watch has ended, as every watch does; the next one begins
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failed, i.failure = i.now(), err
}

// RunWithContext implements cache.SharedIndexInformer.
func (i *Informer) RunWithContext(ctx context.Context) {
	i.SharedIndexInformer.RunWithContext(context.WithValue(ctx, informerKey{}, i))
}

// answered notes how a request fared. client-go tells of a list that fails, but not of a watch that the API server refuses
// to take or is too busy for: it tries again, in silence, for as long as that lasts.
func (i *Informer) answered(watch bool, status int, err error) {
	switch {
	case err == nil && (status == http.StatusTooManyRequests || status >= http.StatusInternalServerError):
		err = fmt.Errorf("the API server answers %d %s", status, http.StatusText(status))
	case err == nil && (status >= http.StatusBadRequest || !watch):
		return // why it was refused is told to watchFailed; a list alone is half of what is needed
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failed, i.failure = i.now(), err
}

// Err tells why the objects could not be read of late; nil if they could.
func (i *Informer) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failure == nil || i.now().Sub(i.failed) > failureKeep {
		return nil
	}
	hint := "what was last known is shown until the API server answers"
	switch {
	case apierrors.IsForbidden(i.failure):
		hint = "grant list and watch"
	case apierrors.IsUnauthorized(i.failure):
		hint = "check the credentials"
	case errors.As(i.failure, new(*tls.CertificateVerificationError)):
		hint = "check the certificate authority, which is read when the collector starts"
	}
	return fmt.Errorf("kube: watch %s: %w; %s", i.what, i.failure, hint)
}

// runWhenServed runs an informer until the context ends. Where it cannot be prepared, since the API server does not
// answer or does not serve the kind, that is told, and it is tried again.
func runWhenServed(ctx context.Context, retry time.Duration, prepare func() (*Informer, error), tell func(error)) {
	for {
		informer, err := prepare()
		tell(err)
		if err == nil {
			informer.RunWithContext(ctx)
			return
		}
		timer := time.NewTimer(retry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
