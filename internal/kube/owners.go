// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxDepth bounds the walk from a pod to the controller at the top. The longest chains in use have four or five.
const maxDepth = 10

// owners keeps of owner references what a walk needs.
func owners(references []metav1.OwnerReference) []metav1.OwnerReference {
	if len(references) == 0 {
		return nil
	}
	kept := make([]metav1.OwnerReference, len(references))
	for i := range references {
		r := &references[i]
		kept[i] = metav1.OwnerReference{APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: r.UID, Controller: r.Controller}
	}
	return kept
}

// controller is the owner that manages an object; where none is marked so, the first.
func controller(references []metav1.OwnerReference) *metav1.OwnerReference {
	for i := range references {
		if references[i].Controller != nil && *references[i].Controller {
			return &references[i]
		}
	}
	if len(references) > 0 {
		return &references[0]
	}
	return nil
}

// Owners watches the metadata of the kinds of objects that own pods through others, such as ReplicaSets and Jobs.
type Owners struct {
	client  metadata.Interface
	resolve func(context.Context, schema.GroupResource) (schema.GroupVersionResource, schema.GroupVersionKind, error)
	wanted  []schema.GroupResource
	retry   time.Duration

	mu        sync.RWMutex
	informers map[schema.GroupKind]*Informer
	failures  map[schema.GroupResource]error
}

// NewOwners prepares the watching of kinds, each resource.group as in replicasets.apps. It needs list and watch on each.
func NewOwners(clients *Clients, kinds []string) *Owners {
	o := &Owners{
		client:    clients.Metadata,
		resolve:   (&discoverer{client: clients.Kubernetes.Discovery()}).resolve,
		retry:     time.Minute,
		informers: make(map[schema.GroupKind]*Informer),
		failures:  make(map[schema.GroupResource]error),
	}
	for _, kind := range kinds {
		if resource := schema.ParseGroupResource(kind); !slices.Contains(o.wanted, resource) {
			o.wanted = append(o.wanted, resource)
		}
	}
	return o
}

// DefaultKinds are the kinds of owners that are read where nothing else is said: what most pods are owned through.
func DefaultKinds() []string { return []string{"replicasets.apps", "jobs.batch"} }

// CheckNames tells what is wrong with the kinds of owners that are to be read, and the labels and annotations of pods that are
// to be sent, each message with its key. Each is named: all kinds would be all objects of the cluster, Secrets among them, and
// all annotations whatever anyone has left there.
func CheckNames(kinds, labels, annotations []string) error {
	var errs []error
	for i, kind := range kinds {
		if err := ValidateKind(kind); err != nil {
			errs = append(errs, fmt.Errorf("kinds::%d: %w", i, err))
		}
	}
	for _, list := range []struct {
		key  string
		keys []string
	}{{"labels", labels}, {"annotations", annotations}} {
		for i, key := range list.keys {
			if problems := validation.IsQualifiedName(key); len(problems) > 0 {
				errs = append(errs, fmt.Errorf("%s::%d: %q is no key of a label or an annotation, each is named in full: %s", list.key, i, key, problems[0]))
			}
		}
	}
	return errors.Join(errs...)
}

// ValidateKind tells whether a kind is named as NewOwners takes it.
func ValidateKind(kind string) error {
	if kind == "" || strings.ContainsAny(kind, "*/ ") || strings.ToLower(kind) != kind || strings.HasPrefix(kind, ".") {
		return fmt.Errorf("%q is no kind of objects; it is to look like replicasets.apps, plural and with its API group", kind)
	}
	return nil
}

// Run watches until the context ends. A kind that the API server does not know yet is looked for again.
func (o *Owners) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, resource := range o.wanted {
		running.Go(func() { o.watch(ctx, resource) })
	}
}

func (o *Owners) watch(ctx context.Context, resource schema.GroupResource) {
	prepare := func() (*Informer, error) { return o.informer(ctx, resource) }
	runWhenServed(ctx, o.retry, prepare, func(err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.failures[resource] = err
	})
}

func (o *Owners) informer(ctx context.Context, resource schema.GroupResource) (*Informer, error) {
	gvr, kind, err := o.resolve(ctx, resource)
	if err != nil {
		return nil, fmt.Errorf("kube: look up the kind %s: %w; owners above it are not known", resource, err)
	}
	shared := Paged(o.client.Resource(gvr), &metav1.PartialObjectMetadata{}, cache.Indexers{}, nil)
	informer, err := NewInformer(shared, resource.String(), stripMetadata)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.informers[kind.GroupKind()] = informer
	return informer, nil
}

// stripMetadata keeps of an object's metadata its name and its owners.
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

// Synced tells whether the first list of every kind that could be looked up has been read.
func (o *Owners) Synced() bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, resource := range o.wanted {
		if _, tried := o.failures[resource]; !tried {
			return false
		}
	}
	for _, informer := range o.informers {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// Errs tells why kinds could not be read of late.
func (o *Owners) Errs() []error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	var errs []error
	for _, resource := range o.wanted {
		if err := o.failures[resource]; err != nil {
			errs = append(errs, err)
		}
	}
	for _, informer := range o.informers {
		if err := informer.Err(); err != nil {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// Of returns the owners of a pod, from the immediate one up. The immediate owner stands in the pod itself; further ones
// are known as far as their kinds are watched and have been read. An owner that is missing ends the walk; it goes on when
// the owner is there.
func (o *Owners) Of(pod *Pod) []gpu.Owner {
	reference := controller(pod.Owners)
	if reference == nil {
		return nil
	}
	if o == nil {
		return []gpu.Owner{{Kind: reference.Kind, Name: reference.Name, UID: string(reference.UID)}}
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	found := make([]gpu.Owner, 0, 2)
	for reference != nil && len(found) < maxDepth {
		owner := gpu.Owner{Kind: reference.Kind, Name: reference.Name, UID: string(reference.UID)}
		if slices.Contains(found, owner) {
			break // an owner of itself
		}
		found = append(found, owner)
		reference = controller(o.ownersOf(pod.Namespace, reference))
	}
	return found
}

// ownersOf returns the owners of an owner. An object of the same name with another UID is another object.
func (o *Owners) ownersOf(namespace string, reference *metav1.OwnerReference) []metav1.OwnerReference {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil {
		return nil
	}
	informer := o.informers[schema.GroupKind{Group: version.Group, Kind: reference.Kind}]
	if informer == nil {
		return nil
	}
	for _, key := range [...]string{namespace + "/" + reference.Name, reference.Name} { // the latter has no namespace
		object, ok, err := informer.GetIndexer().GetByKey(key)
		if err != nil || !ok {
			continue
		}
		if partial, ok := object.(*metav1.PartialObjectMetadata); ok && partial.UID == reference.UID {
			return partial.OwnerReferences
		}
	}
	return nil
}
