// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Permission is a permission that an account needs.
type Permission struct {
	Verb, Group, Resource, Subresource string

	Namespace string // empty: in all namespaces, or of a kind outside namespaces
	Name      string // empty: every object
	// Optional: without the permission only a part is absent, and the shipped manifests leave it out.
	Optional bool
}

// String is the permission as messages name it: "list pods in namespace gpu-operator".
func (r Permission) String() string {
	target := r.Resource
	if r.Group != "" {
		target += "." + r.Group
	}
	if r.Subresource != "" {
		target += "/" + r.Subresource
	}
	if r.Name != "" {
		target += " " + r.Name
	}
	if r.Namespace != "" {
		target += " in namespace " + r.Namespace
	}
	return r.Verb + " " + target
}

// PermissionsTo returns a permission for each verb.
func PermissionsTo(permission Permission, verbs ...string) []Permission {
	permissions := make([]Permission, 0, len(verbs))
	for _, verb := range verbs {
		permission.Verb = verb
		permissions = append(permissions, permission)
	}
	return permissions
}

// Access is whether a permission is granted.
type Access struct {
	Permission

	Allowed bool
	Reason  string // the API server's; mostly empty
}

// Review asks an API server which permissions its credentials have, by a SelfSubjectAccessReview for each, which every account may make. It
// returns what was answered before an error.
func Review(ctx context.Context, client kubernetes.Interface, permissions []Permission) ([]Access, error) {
	var found []Access
	for _, permission := range permissions {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: permission.Verb, Group: permission.Group, Resource: permission.Resource, Subresource: permission.Subresource,
				Namespace: permission.Namespace, Name: permission.Name,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return found, fmt.Errorf("kube: check whether the account is allowed to %s: %w", permission, err)
		}
		found = append(found, Access{Permission: permission, Allowed: review.Status.Allowed, Reason: review.Status.Reason})
	}
	return found, nil
}

// resourceAPI is the group of dynamic resource allocation.
const resourceAPI = "resource.k8s.io"

// Permissions are the permissions that a View with these options needs.
func (o *ViewOptions) Permissions() []Permission {
	permissions := PermissionsTo(Permission{Resource: "pods"}, "list", "watch")
	verbs := []string{"list", "watch"}
	if o.Pods.Node != "" { // see NewView
		verbs = []string{"get"}
	}
	for _, kind := range parseKinds(o.Kinds) {
		permissions = append(permissions, PermissionsTo(Permission{Group: kind.Group, Resource: kind.Resource}, verbs...)...)
	}
	if o.Devices {
		permissions = append(permissions, PermissionsTo(Permission{Group: resourceAPI, Resource: "resourceslices", Optional: true}, "list", "watch")...)
		permissions = append(permissions, PermissionsTo(Permission{Group: resourceAPI, Resource: "resourceclaims", Optional: true}, "get")...)
	}
	return permissions
}

// NodeLabelsPermissions are what NodeLabels of a node need.
func NodeLabelsPermissions(node string) []Permission {
	return PermissionsTo(Permission{Resource: "nodes", Name: node}, "get")
}

// ClaimPermissions are what WatchedClaims need.
func ClaimPermissions() []Permission {
	return PermissionsTo(Permission{Group: resourceAPI, Resource: "resourceclaims"}, "list", "watch")
}
