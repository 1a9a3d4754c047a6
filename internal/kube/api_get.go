// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
)

const (
	firstDelay   = time.Second     // after a failure; then twice as long each time
	longestDelay = 2 * time.Minute // and half of it at most on top, so that agents do not ask all at once
	goneDelay    = 5 * time.Minute // after which an object that was not there is asked for again
)

// ask asks for an owner once, and notes what the API server answers.
func (a *askedOwners) ask(ctx context.Context, key ownerKey) {
	a.mu.Lock()
	mapping := a.served[key.kind]
	a.mu.Unlock()
	object, later, err := a.get(ctx, mapping, key)
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	owner := a.known[key]
	if owner == nil {
		return
	}
	owner.asking = false
	switch {
	case err == nil && object.UID == key.uid:
		*owner = knownOwner{used: owner.used, answered: true, owners: owners(object.OwnerReferences)}
	case err == nil, apierrors.IsNotFound(err) && !notServed(err):
		*owner = knownOwner{used: owner.used, due: a.now().Add(goneDelay)}
	default:
		resource := mapping.Resource.GroupResource()
		if notServed(err) {
			a.failures[resource] = errLookUp(resource, err) // until it has been looked up anew
		}
		owner.delay = min(max(2*owner.delay, firstDelay), longestDelay)
		owner.due = a.now().Add(max(wait.Jitter(owner.delay, 0.5), min(later, keepOwner)))
		owner.failure = errGet(resource, &key, err)
	}
}

// get makes one request. later is for how long the API server asks to be left alone.
func (a *askedOwners) get(ctx context.Context, mapping *meta.RESTMapping, key ownerKey) (
	object *metav1.PartialObjectMetadata, later time.Duration, err error,
) {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, onceKey{}, &later), a.timeout)
	defer cancel()
	var from metadata.ResourceInterface = a.client.Resource(mapping.Resource)
	if key.namespace != "" {
		from = a.client.Resource(mapping.Resource).Namespace(key.namespace)
	}
	object, err = from.Get(ctx, key.name, metav1.GetOptions{})
	return object, later, err
}

// notServed tells whether it is not the object that was not found, but the kind in that version: then the answer is none that
// an API server gives for an object.
func notServed(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func errGet(resource schema.GroupResource, key *ownerKey, err error) error {
	hint := "what is above it is not known until the API server answers"
	switch {
	case apierrors.IsForbidden(err):
		hint = fmt.Sprintf("grant get on %s; until then what is above them is not known", resource)
	case apierrors.IsUnauthorized(err):
		hint = "check the credentials"
	}
	return fmt.Errorf("kube: get %s: %w; %s", key.what(resource), err, hint)
}

// what names an owner in messages.
func (k *ownerKey) what(resource schema.GroupResource) string {
	if k.namespace == "" {
		return fmt.Sprintf("%s %s", resource, k.name)
	}
	return fmt.Sprintf("%s %s/%s", resource, k.namespace, k.name)
}
