// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exectest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/stretchr/testify/assert"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// reviewPath is the resource by which an account queries its own permissions.
const reviewPath = "selfsubjectaccessreviews"

// Deny removes permissions from the account, such as "watch nodes" and "create pods/exec".
func (s *Server) Deny(rights ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = append(s.denied, rights...)
}

// serveReview answers whether an account has a permission.
func (s *Server) serveReview(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	assert.NoError(s.t, err)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
	if !assert.NoError(s.t, err) || !assert.True(s.t, ok) {
		return
	}
	attributes := review.Spec.ResourceAttributes
	right := attributes.Verb + " " + attributes.Resource
	if attributes.Subresource != "" {
		right += "/" + attributes.Subresource
	}
	s.mu.Lock()
	denied := slices.Contains(s.denied, right)
	s.mu.Unlock()
	review.TypeMeta = metav1.TypeMeta{Kind: "SelfSubjectAccessReview", APIVersion: "authorization.k8s.io/v1"}
	review.Status.Allowed = !denied
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}
