// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

const (
	maxRequests = 4    // at a time
	maxOwners   = 4096 // that are kept; a node has about a hundred pods
)

// askedOwners requests the metadata of owners one by one, when they are looked up, for the pods of one node. If each node's agent listed
// and watched the kinds, every change of any of their objects would go to every node. The owners of an object are read once.
type askedOwners struct {
	client  metadata.Interface
	resolve resolveFunc
	timeout time.Duration // of one request
	now     func() time.Time
	queue   chan func(context.Context) // requests

	mu    sync.Mutex
	kinds map[string][]*askedKind // by API group
	known map[ownerKey]*knownOwner
}

// AskOwners returns the owners of pods by single requests, for a view of a few pods. It reads owners of these kinds, each
// resource.group as in replicasets.apps, and needs get on them.
func AskOwners(clients *Clients, kinds []string) *Owners {
	return &Owners{&askedOwners{
		client:  clients.Metadata,
		resolve: resolver(clients),
		timeout: 10 * time.Second,
		now:     time.Now,
		queue:   make(chan func(context.Context), 256),
		kinds:   askedKinds(kinds),
		known:   make(map[ownerKey]*knownOwner),
	}}
}

// Run implements ownerSource.
func (a *askedOwners) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for range maxRequests {
		running.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case request := <-a.queue:
					request(ctx)
				}
			}
		})
	}
}

// Synced implements ownerSource: all requests have ended.
func (a *askedOwners) Synced() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, group := range a.kinds {
		for _, kind := range group {
			if kind.requested {
				return false
			}
		}
	}
	for _, owner := range a.known {
		if owner.requested {
			return false
		}
	}
	return true
}

// Errs implements ownerSource: for each kind, why it could not be looked up and why one of its owners could not be read.
func (a *askedOwners) Errs() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget()
	var errs []error
	oldest := a.now().Add(-keepOwner)
	for _, group := range a.kinds {
		for _, kind := range group {
			if kind.failure != nil && !kind.used.Before(oldest) {
				errs = append(errs, kind.failure)
			}
		}
	}
	failed := make(map[schema.GroupKind]error)
	for key, owner := range a.known {
		if first := failed[key.kind]; owner.failure != nil && (first == nil || owner.failure.Error() < first.Error()) {
			failed[key.kind] = owner.failure
		}
	}
	for _, err := range failed {
		errs = append(errs, err)
	}
	return sortErrs(errs)
}

// ownersOf implements ownerSource. It queues a request for an owner that is unknown or due again, and returns what is known.
func (a *askedOwners) ownersOf(namespace string, reference *metav1.OwnerReference) ([]metav1.OwnerReference, bool) {
	gk, ok := kindOf(reference)
	// The name becomes part of a request's path, and the API server does not check what a pod says about its owner.
	if !ok || reference.Name == "" || !isOwner(reference) || len(content.IsPathSegmentName(reference.Name)) > 0 {
		return nil, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	kind := a.lookedUp(gk)
	if kind == nil {
		return nil, true
	}
	key := ownerKey{kind: gk, namespace: namespace, name: reference.Name, uid: reference.UID}
	if kind.mapping.Scope.Name() == meta.RESTScopeNameRoot {
		key.namespace = ""
	}
	owner := a.known[key]
	if owner == nil {
		if len(a.known) >= maxOwners {
			a.forget()
		}
		if len(a.known) >= maxOwners {
			return nil, false
		}
		owner = &knownOwner{}
		a.known[key] = owner
	}
	a.need(&owner.attempt, func(ctx context.Context) { a.request(ctx, kind, key) })
	return owner.owners, owner.answered
}

// need queues a request for something that is needed now, if it is unknown or due again.
func (a *askedOwners) need(target *attempt, request func(context.Context)) {
	target.used = a.now()
	if !target.wants(target.used) {
		return
	}
	select {
	case a.queue <- request:
		target.requested = true
	default: // the queue is full: at a later read
	}
}

// forget drops the owners that are not looked up any more.
func (a *askedOwners) forget() {
	oldest := a.now().Add(-keepOwner)
	maps.DeleteFunc(a.known, func(_ ownerKey, owner *knownOwner) bool { return owner.used.Before(oldest) })
}

// request requests an owner and stores the answer.
func (a *askedOwners) request(ctx context.Context, kind *askedKind, key ownerKey) {
	a.mu.Lock()
	mapping := kind.mapping
	a.mu.Unlock()
	object, retryAfter, err := a.get(ctx, mapping.Resource, key)
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	owner := a.known[key]
	if owner == nil {
		return
	}
	switch {
	case err == nil && object.UID == key.uid:
		owner.found(object.OwnerReferences)
	case err == nil, apierrors.IsNotFound(err) && !notServed(err):
		owner.notFound(a.now())
	default:
		if notServed(err) && kind.mapping == mapping {
			kind.lost()
		}
		owner.failed(a.now(), retryAfter, errGetOwner(kind.resource, &key, err))
	}
}

func (a *askedOwners) get(ctx context.Context, resource schema.GroupVersionResource, key ownerKey) (
	*metav1.PartialObjectMetadata, time.Duration, error,
) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var source metadata.ResourceInterface = a.client.Resource(resource)
	if key.namespace != "" {
		source = a.client.Resource(resource).Namespace(key.namespace)
	}
	return getOnce(ctx, source, key.name)
}
