// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

const (
	longestDelay = 150 * time.Second // after failures in a row
	goneDelay    = 5 * time.Minute   // after which a missing object is requested again
	keepOwner    = 10 * time.Minute
)

// ownerKey is an owner as a reference names it. Its UID alone does not identify it: the creator of the pod decides what is in the
// reference, such as the UID of an object in another namespace.
type ownerKey struct {
	kind            schema.GroupKind
	namespace, name string // no namespace if the kind has none
	uid             types.UID
}

// attempt is the state of something that is requested when it is needed.
type attempt struct {
	used      time.Time // when it was last needed; it is forgotten keepOwner later
	requested bool      // its request is queued or running
	answered  bool      // it is known, and is not requested again
	due       time.Time // when it may be requested again, unless it is answered
	failures  int       // in a row
	failure   error
}

// wants reports whether it is to be requested now.
func (a *attempt) wants(now time.Time) bool {
	return !a.answered && !a.requested && !now.Before(a.due)
}

// succeeded notes that it is known.
func (a *attempt) succeeded() { *a = attempt{used: a.used, answered: true} }

// notFound notes that the API server does not have it.
func (a *attempt) notFound(now time.Time) { *a = attempt{used: a.used, due: now.Add(goneDelay)} }

// failed notes why a request failed. The next one is due when both the back-off and the API server allow it.
func (a *attempt) failed(now time.Time, retryAfter time.Duration, err error) {
	a.requested = false
	a.failures++
	wait := backoff.Jitter(backoff.Policy{First: time.Second, Max: longestDelay}.Wait(a.failures))
	a.due = now.Add(max(wait, min(retryAfter, keepOwner)))
	a.failure = err
}

// knownOwner is what is known about an owner.
type knownOwner struct {
	attempt

	owners []metav1.OwnerReference
}

// found stores the owner's owners. They never change: they are set when an object is made.
func (o *knownOwner) found(references []metav1.OwnerReference) {
	o.succeeded()
	o.owners = owners(references)
}

func errGetOwner(resource schema.GroupResource, key *ownerKey, err error) error {
	name := key.name
	if key.namespace != "" {
		name = key.namespace + "/" + name
	}
	hint := "its owners are unknown until the API server answers"
	switch {
	case apierrors.IsForbidden(err):
		hint = fmt.Sprintf("grant get on %s; until then the owners above are unknown", resource)
	case apierrors.IsUnauthorized(err):
		hint = "check the credentials"
	}
	return fmt.Errorf("kube: get %s %s: %w; %s", resource, name, err, hint)
}
