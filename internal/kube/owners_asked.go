// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"maps"
	"slices"
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
	kinds   []schema.GroupResource
	retry   time.Duration
	timeout time.Duration // of one request
	now     func() time.Time
	queue   chan ownerKey

	mu       sync.Mutex
	served   map[schema.GroupKind]*meta.RESTMapping // the kinds that were looked up
	failures map[schema.GroupResource]error         // why a kind could not be looked up
	known    map[ownerKey]*knownOwner
}

// AskOwners returns the owners of pods by single requests, for a view of a few pods. It reads owners of these kinds, each
// resource.group as in replicasets.apps, and needs get on them.
func AskOwners(clients *Clients, kinds []string) *Owners {
	return &Owners{&askedOwners{
		client:   clients.Metadata,
		resolve:  (&discoverer{client: clients.Kubernetes.Discovery()}).resolve,
		kinds:    parseKinds(kinds),
		retry:    time.Minute,
		timeout:  10 * time.Second,
		now:      time.Now,
		queue:    make(chan ownerKey, 256),
		served:   make(map[schema.GroupKind]*meta.RESTMapping),
		failures: make(map[schema.GroupResource]error),
		known:    make(map[ownerKey]*knownOwner),
	}}
}

// Run implements ownerSource.
func (a *askedOwners) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, resource := range a.kinds {
		running.Go(func() { a.lookUp(ctx, resource) })
	}
	for range maxRequests {
		running.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case key := <-a.queue:
					a.request(ctx, key)
				}
			}
		})
	}
}

// lookUp looks up in which version a kind is served, until it is, and again after that version is gone.
func (a *askedOwners) lookUp(ctx context.Context, resource schema.GroupResource) {
	ticker := time.NewTicker(a.retry)
	defer ticker.Stop()
	for {
		if a.needsLookUp(resource) {
			mapping, err := a.resolve(ctx, resource)
			a.mu.Lock()
			if err != nil {
				a.failures[resource] = errLookUp(resource, err)
			} else {
				delete(a.failures, resource)
				a.served[mapping.GroupVersionKind.GroupKind()] = mapping
			}
			a.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (a *askedOwners) needsLookUp(resource schema.GroupResource) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failures[resource] != nil || !a.isServed(resource)
}

func (a *askedOwners) isServed(resource schema.GroupResource) bool {
	for _, mapping := range a.served {
		if mapping.Resource.GroupResource() == resource {
			return true
		}
	}
	return false
}

// Synced implements ownerSource: all kinds were looked up, and all requests have ended.
func (a *askedOwners) Synced() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, resource := range a.kinds {
		if a.failures[resource] == nil && !a.isServed(resource) {
			return false
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
	errs := slices.Collect(maps.Values(a.failures))
	failed := make(map[schema.GroupKind]error)
	for key, owner := range a.known {
		if first := failed[key.kind]; owner.failure != nil && (first == nil || owner.failure.Error() < first.Error()) {
			failed[key.kind] = owner.failure
		}
	}
	return sortErrs(slices.AppendSeq(errs, maps.Values(failed)))
}

// ownersOf implements ownerSource. It queues a request for an owner that is unknown or due again, and returns what is known.
func (a *askedOwners) ownersOf(namespace string, reference *metav1.OwnerReference) ([]metav1.OwnerReference, bool) {
	kind, ok := kindOf(reference)
	// The name becomes part of a request's path, and nobody checks what a pod says about its owner.
	if !ok || reference.Name == "" || !isOwner(reference) || len(content.IsPathSegmentName(reference.Name)) > 0 {
		return nil, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	mapping := a.served[kind]
	if mapping == nil {
		return nil, true
	}
	key := ownerKey{kind: kind, namespace: namespace, name: reference.Name, uid: reference.UID}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		key.namespace = ""
	}
	owner := a.known[key]
	if owner == nil {
		if a.forget(); len(a.known) >= maxOwners {
			return nil, false
		}
		owner = &knownOwner{}
		a.known[key] = owner
	}
	owner.used = a.now()
	if owner.wants(owner.used) {
		select {
		case a.queue <- key:
			owner.requested = true
		default: // the queue is full: at a later read
		}
	}
	return owner.owners, owner.answered
}

// forget drops the owners that are not looked up any more.
func (a *askedOwners) forget() {
	oldest := a.now().Add(-keepOwner)
	maps.DeleteFunc(a.known, func(_ ownerKey, owner *knownOwner) bool { return owner.used.Before(oldest) })
}

// request requests an owner and stores the answer.
func (a *askedOwners) request(ctx context.Context, key ownerKey) {
	a.mu.Lock()
	mapping := a.served[key.kind]
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
		owner.gone(a.now())
	default:
		resource := mapping.Resource.GroupResource()
		if notServed(err) {
			a.failures[resource] = errLookUp(resource, err) // until it was looked up again
		}
		owner.failed(a.now(), retryAfter, errGetOwner(resource, &key, err))
	}
}

func (a *askedOwners) get(ctx context.Context, resource schema.GroupVersionResource, key ownerKey) (
	*metav1.PartialObjectMetadata, time.Duration, error,
) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var from metadata.ResourceInterface = a.client.Resource(resource)
	if key.namespace != "" {
		from = a.client.Resource(resource).Namespace(key.namespace)
	}
	return getOnce(ctx, from, key.name)
}
