// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxDepth bounds the walk from a pod up to its last owner. The longest chains in use have six owners: the chains of KServe on Knative.
const maxDepth = 10

// Owners has the owners above the immediate owners of pods, such as the Deployment above a ReplicaSet.
type Owners struct{ ownerSource }

// ownerSource is their source: WatchOwners or AskOwners.
type ownerSource interface {
	// Run reads until the context ends. It looks again for a kind that the API server does not serve yet.
	Run(ctx context.Context)
	// Synced reports whether everything has been read that is read ahead.
	Synced() bool
	// Errs returns why kinds cannot be read. A kind that is not served is not among them: there is no object of it.
	Errs() []error
	// ownersOf returns the owners of the object that a reference from a namespace names, as far as they are known. It does not
	// wait. An object with the same name and another UID is another object. known is false if the object's kind is read, and it has not
	// been read.
	ownersOf(namespace string, reference *metav1.OwnerReference) (owners []metav1.OwnerReference, known bool)
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

// ownersUnknown ends a message that a kind could not be looked up.
const ownersUnknown = "; the owners above it are unknown"

func sortErrs(errs []error) []error {
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// DefaultKinds returns the default of the kinds of owners that are read: those between most pods and their workloads.
func DefaultKinds() []string { return []string{"replicasets.apps", "jobs.batch"} }

// CheckNames checks the kinds of owners that are read, and the labels and annotations of pods that are sent. Each error has its key. There
// are no wildcards: all kinds would be all objects of the cluster, including Secrets, and all annotations would be everything that any user
// has left there.
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
				errs = append(errs, fmt.Errorf("%s::%d: %q is not the full key of a label or an annotation: %s", list.key, i, key, problems[0]))
			}
		}
	}
	return errors.Join(errs...)
}

// ValidateKind checks that a kind is named as WatchOwners and AskOwners take it.
func ValidateKind(kind string) error {
	if kind == "" || strings.ContainsAny(kind, "*/ ") || strings.ToLower(kind) != kind || strings.HasPrefix(kind, ".") {
		return fmt.Errorf("%q is not a kind of objects; name it like replicasets.apps, plural and with its API group", kind)
	}
	return nil
}

// Of returns the owners of a pod, from the immediate one up. The immediate owner is named by the pod itself; a further one is known if
// its kind is read and it has been read. A missing owner ends the walk until it is known.
func (o *Owners) Of(pod *Pod) []gpu.Owner {
	found, _ := o.Chain(pod.Namespace, pod.Owners)
	return found
}

// Chain is Of for an object of a namespace with these owner references. complete is false if the last owner is of a kind that is read,
// and has not been read: it may come, or be gone.
func (o *Owners) Chain(namespace string, references []metav1.OwnerReference) (chain []gpu.Owner, complete bool) {
	for reference := controller(references); reference != nil && len(chain) < maxDepth; {
		same := func(r gpu.Owner) bool {
			return r.UID == string(reference.UID) && r.Kind == reference.Kind && r.Name == reference.Name
		}
		if slices.ContainsFunc(chain, same) {
			break // it owns itself
		}
		chain = append(chain, gpu.Owner{
			APIVersion: reference.APIVersion, Kind: reference.Kind, Name: reference.Name, UID: string(reference.UID),
		})
		if o == nil {
			break
		}
		above, known := o.ownersOf(namespace, reference)
		if !known {
			return chain, false
		}
		reference = controller(above)
	}
	return chain, true
}

// OwnerReferences returns what Chain needs of owner references.
func OwnerReferences(references []metav1.OwnerReference) []metav1.OwnerReference {
	return owners(references)
}
