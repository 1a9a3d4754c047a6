// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// watchedOwners watches the metadata of all objects of the kinds.
type watchedOwners struct {
	client  metadata.Interface
	resolve resolveFunc
	kinds   []schema.GroupResource
	retry   time.Duration

	mu        sync.RWMutex
	informers map[schema.GroupKind]*Informer
	failures  map[schema.GroupResource]error
}

// WatchOwners returns the owners of pods by watching all objects of these kinds, for a view of the pods of all nodes. Each kind is
// resource.group as in replicasets.apps. It needs list and watch on them.
func WatchOwners(clients *Clients, kinds []string) *Owners {
	return &Owners{&watchedOwners{
		client:    clients.Metadata,
		resolve:   (&discoverer{client: clients.Kubernetes.Discovery()}).resolve,
		kinds:     parseKinds(kinds),
		retry:     time.Minute,
		informers: make(map[schema.GroupKind]*Informer),
		failures:  make(map[schema.GroupResource]error),
	}}
}

// Run implements ownerSource.
func (w *watchedOwners) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, resource := range w.kinds {
		running.Go(func() { w.watch(ctx, resource) })
	}
}

func (w *watchedOwners) watch(ctx context.Context, resource schema.GroupResource) {
	prepare := func() (*Informer, error) { return w.informer(ctx, resource) }
	runWhenServed(ctx, w.retry, prepare, func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failures[resource] = err
	})
}

func (w *watchedOwners) informer(ctx context.Context, resource schema.GroupResource) (*Informer, error) {
	mapping, err := w.resolve(ctx, resource)
	if err != nil {
		return nil, errLookUp(resource, err)
	}
	shared := Paged(w.client.Resource(mapping.Resource), &metav1.PartialObjectMetadata{}, cache.Indexers{}, nil)
	informer, err := NewInformer(shared, resource.String(), stripMetadata)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.informers[mapping.GroupVersionKind.GroupKind()] = informer
	return informer, nil
}

// stripMetadata drops an object's metadata but its names and its owners.
func stripMetadata(object any) (any, error) {
	partial, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: partial.Namespace, Name: partial.Name, UID: partial.UID, ResourceVersion: partial.ResourceVersion,
		OwnerReferences: owners(partial.OwnerReferences),
	}}, nil
}

// Synced implements ownerSource: the first list of every kind that could be looked up has been read.
func (w *watchedOwners) Synced() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, resource := range w.kinds {
		if _, tried := w.failures[resource]; !tried {
			return false
		}
	}
	for _, informer := range w.informers {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// Errs implements ownerSource.
func (w *watchedOwners) Errs() []error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var errs []error
	for _, resource := range w.kinds {
		if err := w.failures[resource]; err != nil && !errors.Is(err, errNotServed) {
			errs = append(errs, err)
		}
	}
	for _, informer := range w.informers {
		if err := informer.Err(); err != nil {
			errs = append(errs, err)
		}
	}
	return sortErrs(errs)
}

// ownersOf implements ownerSource.
func (w *watchedOwners) ownersOf(namespace string, reference *metav1.OwnerReference) ([]metav1.OwnerReference, bool) {
	kind, ok := kindOf(reference)
	if !ok {
		return nil, true
	}
	w.mu.RLock()
	informer := w.informers[kind]
	w.mu.RUnlock()
	if informer == nil {
		return nil, true
	}
	for _, key := range [...]string{namespace + "/" + reference.Name, reference.Name} { // the second without a namespace
		object, ok, err := informer.GetIndexer().GetByKey(key)
		if err != nil || !ok {
			continue
		}
		if partial, ok := object.(*metav1.PartialObjectMetadata); ok && partial.UID == reference.UID {
			return partial.OwnerReferences, true
		}
	}
	return nil, false
}
