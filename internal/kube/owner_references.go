// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxName bounds the names, the kinds and the UIDs of objects, in bytes.
const maxName = 253

// isOwner reports whether a reference can be one to an object. The API server does not check what a pod says about its owner.
func isOwner(r *metav1.OwnerReference) bool {
	for _, part := range [...]string{r.APIVersion, r.Kind, r.Name, string(r.UID)} {
		if len(part) > maxName || !utf8.ValidString(part) {
			return false
		}
	}
	return true
}

// owners returns what a walk needs of owner references.
func owners(references []metav1.OwnerReference) []metav1.OwnerReference {
	if len(references) == 0 {
		return nil
	}
	result := make([]metav1.OwnerReference, 0, len(references))
	for i := range references {
		if r := &references[i]; isOwner(r) {
			result = append(result, metav1.OwnerReference{
				APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: r.UID, Controller: r.Controller,
			})
		}
	}
	return result
}

// controller returns the owner that manages an object, or its first owner if none is marked as the controller; nil without owners.
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

// kindOf returns the kind that a reference names; false if it names none.
func kindOf(reference *metav1.OwnerReference) (schema.GroupKind, bool) {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	return schema.GroupKind{Group: version.Group, Kind: reference.Kind}, err == nil
}
