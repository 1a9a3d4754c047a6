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

// Right is a permission that an account needs.
type Right struct {
	Verb, Group, Resource, Subresource string

	Namespace string // empty: in all namespaces, or of a kind outside namespaces
	Name      string // empty: every object
	// Optional: without the permission only a part is absent, and the shipped manifests leave it out.
	Optional bool
}

// String is the permission as messages name it: "list pods in namespace gpu-operator".
func (r Right) String() string {
	what := r.Resource
	if r.Group != "" {
		what += "." + r.Group
	}
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	if r.Name != "" {
		what += " " + r.Name
	}
	if r.Namespace != "" {
		what += " in namespace " + r.Namespace
	}
	return r.Verb + " " + what
}

// RightsTo returns a permission for each verb.
func RightsTo(of Right, verbs ...string) []Right {
	rights := make([]Right, 0, len(verbs))
	for _, verb := range verbs {
		of.Verb = verb
		rights = append(rights, of)
	}
	return rights
}

// Access is whether a permission is granted.
type Access struct {
	Right

	Allowed bool
	Reason  string // the API server's; mostly empty
}

// Review asks an API server which permissions its credentials have, by a SelfSubjectAccessReview for each, which every account may make. It
// returns what was answered before an error.
func Review(ctx context.Context, client kubernetes.Interface, rights []Right) ([]Access, error) {
	var found []Access
	for _, right := range rights {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: right.Verb, Group: right.Group, Resource: right.Resource, Subresource: right.Subresource,
				Namespace: right.Namespace, Name: right.Name,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return found, fmt.Errorf("kube: ask whether the account may %s: %w", right, err)
		}
		found = append(found, Access{Right: right, Allowed: review.Status.Allowed, Reason: review.Status.Reason})
	}
	return found, nil
}
