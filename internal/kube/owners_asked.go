// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

const (
	askers    = 4                // requests at a time
	maxOwners = 4096             // that are kept; a node has a hundred pods or so
	keepOwner = 10 * time.Minute // after it was last looked up
)

// askedOwners asks for the metadata of owners one by one, when they are looked up, for the pods of one node: if each node's
// agent listed and watched the kinds, every change of any object of them would go to every node. The owners of an object are
// read once: they are set when it is made.
type askedOwners struct {
	client  metadata.Interface
	resolve resolveFunc
	wanted  []schema.GroupResource
	retry   time.Duration
	timeout time.Duration // of one request
	now     func() time.Time
	queue   chan ownerKey

	mu       sync.Mutex
	served   map[schema.GroupKind]*meta.RESTMapping // the wanted kinds that could be looked up
	failures map[schema.GroupResource]error         // why one could not
	known    map[ownerKey]*knownOwner
}

// ownerKey is an owner as a reference names it. The UID alone would not do: what stands in a reference is whatever the one who
// made the pod has put there, the UID of another namespace's object too.
type ownerKey struct {
	kind            schema.GroupKind
	namespace, name string // without a namespace where the kind has none
	uid             types.UID
}

// knownOwner is what is known of an owner.
type knownOwner struct {
	used     time.Time
	asking   bool      // in the queue, or under way
	answered bool      // for good
	due      time.Time // when it may be asked for again, unless it is answered
	delay    time.Duration
	failure  error
	owners   []metav1.OwnerReference
}

// AskOwners prepares the asking for owners of these kinds, each resource.group as in replicasets.apps. It needs get on each.
func AskOwners(clients *Clients, kinds []string) *Owners {
	return &Owners{&askedOwners{
		client:   clients.Metadata,
		resolve:  (&discoverer{client: clients.Kubernetes.Discovery()}).resolve,
		wanted:   parseKinds(kinds),
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
	for _, resource := range a.wanted {
		running.Go(func() { a.lookUp(ctx, resource) })
	}
	for range askers {
		running.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case key := <-a.queue:
					a.ask(ctx, key)
				}
			}
		})
	}
}

// lookUp keeps a kind looked up: until it is served, and anew where it is not served any more as it was.
func (a *askedOwners) lookUp(ctx context.Context, resource schema.GroupResource) {
	ticker := time.NewTicker(a.retry)
	defer ticker.Stop()
	for {
		if a.isToLookUp(resource) {
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

func (a *askedOwners) isToLookUp(resource schema.GroupResource) bool {
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

// Synced implements ownerSource: all kinds have been looked up, and what has been asked for was answered.
func (a *askedOwners) Synced() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, resource := range a.wanted {
		if a.failures[resource] == nil && !a.isServed(resource) {
			return false
		}
	}
	for _, owner := range a.known {
		if owner.asking {
			return false
		}
	}
	return true
}

// Errs implements ownerSource: of each kind, why one of the owners in use could not be read.
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

// ownersOf asks for an owner that is not known, or is to be asked for again, and returns what is known of it by now.
func (a *askedOwners) ownersOf(namespace string, reference *metav1.OwnerReference) []metav1.OwnerReference {
	kind, ok := kindOf(reference)
	// A name becomes part of a request's path, and what a pod says of its owner is not checked by anyone.
	if !ok || reference.Name == "" || !isOwner(reference) || len(path.IsValidPathSegmentName(reference.Name)) > 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	mapping := a.served[kind]
	if mapping == nil {
		return nil
	}
	key := ownerKey{kind: kind, namespace: namespace, name: reference.Name, uid: reference.UID}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		key.namespace = ""
	}
	owner := a.known[key]
	if owner == nil {
		if a.forget(); len(a.known) >= maxOwners {
			return nil
		}
		owner = &knownOwner{}
		a.known[key] = owner
	}
	owner.used = a.now()
	if !owner.answered && !owner.asking && !owner.used.Before(owner.due) {
		select {
		case a.queue <- key:
			owner.asking = true
		default: // at a later read
		}
	}
	return owner.owners
}

// forget forgets the owners that are not looked up any more.
func (a *askedOwners) forget() {
	oldest := a.now().Add(-keepOwner)
	maps.DeleteFunc(a.known, func(_ ownerKey, owner *knownOwner) bool { return owner.used.Before(oldest) })
}
