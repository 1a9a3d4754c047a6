// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxDepth bounds the walk from a pod to the controller at the top. The longest chains in use have four or five.
const maxDepth = 10

// maxName is how long the names, the kinds and the UIDs of objects may be.
const maxName = 253

// isOwner tells whether a reference can be one to an object. What a pod says of its owner is not checked by anyone.
func isOwner(r *metav1.OwnerReference) bool {
	for _, part := range [...]string{r.APIVersion, r.Kind, r.Name, string(r.UID)} {
		if len(part) > maxName || !utf8.ValidString(part) {
			return false
		}
	}
	return true
}

// owners keeps of owner references what a walk needs.
func owners(references []metav1.OwnerReference) []metav1.OwnerReference {
	if len(references) == 0 {
		return nil
	}
	kept := make([]metav1.OwnerReference, 0, len(references))
	for i := range references {
		if r := &references[i]; isOwner(r) {
			kept = append(kept, metav1.OwnerReference{
				APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: r.UID, Controller: r.Controller,
			})
		}
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

// Owners knows what is above the immediate owners of pods: the objects that own them through others, such as ReplicaSets and Jobs.
type Owners struct{ ownerSource }

// ownerSource is where that is known from: WatchOwners or AskOwners.
type ownerSource interface {
	// Run reads until the context ends. A kind that the API server does not know yet is looked for again.
	Run(ctx context.Context)
	// Synced tells whether what is read ahead has been read.
	Synced() bool
	// Errs tells why kinds could not be read of late.
	Errs() []error
	// ownersOf returns the owners of an owner of something in a namespace, as far as they are known; it does not wait. An object of
	// the same name with another UID is another object.
	ownersOf(namespace string, reference *metav1.OwnerReference) []metav1.OwnerReference
}

// parseKinds parses the names of kinds, each resource.group as in replicasets.apps.
func parseKinds(names []string) []schema.GroupResource {
	var kinds []schema.GroupResource
	for _, name := range names {
		if kind := schema.ParseGroupResource(name); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// kindOf returns the kind that a reference names; false where it names none.
func kindOf(reference *metav1.OwnerReference) (schema.GroupKind, bool) {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return schema.GroupKind{Group: version.Group, Kind: reference.Kind}, err == nil
}

// errLookUp is told where a kind cannot be looked up.
func errLookUp(resource schema.GroupResource, err error) error {
	return fmt.Errorf("kube: look up the kind %s: %w; owners above it are not known", resource, err)
}

func sortErrs(errs []error) []error {
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
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

// ValidateKind tells whether a kind is named as WatchOwners and AskOwners take it.
func ValidateKind(kind string) error {
	if kind == "" || strings.ContainsAny(kind, "*/ ") || strings.ToLower(kind) != kind || strings.HasPrefix(kind, ".") {
		return fmt.Errorf("%q is no kind of objects; it is to look like replicasets.apps, plural and with its API group", kind)
	}
	return nil
}

// Of returns the owners of a pod, from the immediate one up. The immediate owner stands in the pod itself; further ones
// are known as far as their kinds are read and they have been read. An owner that is missing ends the walk; it goes on when
// the owner is there.
func (o *Owners) Of(pod *Pod) []gpu.Owner {
	reference := controller(pod.Owners)
	if reference == nil {
		return nil
	}
	if o == nil {
		return []gpu.Owner{{Kind: reference.Kind, Name: reference.Name, UID: string(reference.UID)}}
	}
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
