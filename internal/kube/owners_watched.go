// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// watchedOwners watches the metadata of all objects of the kinds.
type watchedOwners struct{ kinds []*servedKind }

// WatchOwners returns the owners of pods by watching all objects of these kinds, for a view of the pods of all nodes. Each kind is
// resource.group as in replicasets.apps. It needs list and watch on them.
func WatchOwners(clients *Clients, kinds []string) *Owners {
	w := &watchedOwners{}
	for _, resource := range parseKinds(kinds) {
		w.kinds = append(w.kinds, newServed(clients, resource, ownersUnknown, func(mapping *meta.RESTMapping) (*Informer, error) {
			shared := Paged(clients.Metadata.Resource(mapping.Resource), &metav1.PartialObjectMetadata{}, cache.Indexers{}, nil)
			return NewInformer(shared, resource.String(), stripMetadata)
		}))
	}
	return &Owners{w}
}

// Run implements ownerSource.
func (w *watchedOwners) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, kind := range w.kinds {
		running.Go(func() { kind.Run(ctx) })
	}
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
	return !slices.ContainsFunc(w.kinds, func(kind *servedKind) bool {
		kind.mu.RLock()
		defer kind.mu.RUnlock()
		return !kind.lookedUp || kind.running != nil && !kind.running.HasSynced()
	})
}

// Errs implements ownerSource.
func (w *watchedOwners) Errs() []error {
	var errs []error
	for _, kind := range w.kinds {
		if err := kind.Err(); err != nil && !errors.Is(err, errNotServed) {
			errs = append(errs, err)
		}
	}
	return sortErrs(errs)
}

// informerOf returns the informer of a kind; nil if it was not looked up, or is not watched.
func (w *watchedOwners) informerOf(kind schema.GroupKind) *Informer {
	for _, watched := range w.kinds {
		if informer := watched.current(); informer != nil && watched.kind == kind {
			return informer
		}
	}
	return nil
}

// ownersOf implements ownerSource.
func (w *watchedOwners) ownersOf(namespace string, reference *metav1.OwnerReference) ([]metav1.OwnerReference, bool) {
	kind, ok := kindOf(reference)
	if !ok {
		return nil, true
	}
	informer := w.informerOf(kind)
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
