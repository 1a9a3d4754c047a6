// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRightString(t *testing.T) {
	for want, permission := range map[string]Permission{
		"list pods":                                        {Verb: "list", Resource: "pods"},
		"get nodes n1":                                     {Verb: "get", Resource: "nodes", Name: "n1"},
		"create pods/exec in namespace gpus":               {Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "gpus"},
		"watch resourceslices.resource.k8s.io":             {Verb: "watch", Group: "resource.k8s.io", Resource: "resourceslices"},
		"delete leases.coordination.k8s.io in namespace a": {Verb: "delete", Group: "coordination.k8s.io", Resource: "leases", Namespace: "a"},
	} {
		assert.Equal(t, want, permission.String())
	}
}

// The view of a node needs fewer permissions than the view of a cluster.
func TestViewPermissions(t *testing.T) {
	texts := func(o ViewOptions) []string {
		var all []string
		for _, r := range o.Permissions() {
			all = append(all, r.String())
		}
		return all
	}
	kinds := []string{"replicasets.apps"}
	assert.Equal(t, []string{"list pods", "watch pods", "list replicasets.apps", "watch replicasets.apps"}, texts(ViewOptions{Kinds: kinds}))
	assert.Equal(t, []string{
		"list pods", "watch pods", "get replicasets.apps", "list resourceslices.resource.k8s.io", "watch resourceslices.resource.k8s.io",
		"get resourceclaims.resource.k8s.io",
	}, texts(ViewOptions{Pods: PodsOptions{Node: "n"}, Kinds: kinds, Devices: true}))
}

// An API server that does not know the review says so, with the request.
func TestReviewFails(t *testing.T) {
	got, err := Review(t.Context(), newClients(t, nil).Kubernetes, PermissionsTo(Permission{Resource: "pods"}, "list", "watch"))
	require.ErrorContains(t, err, "check whether the account is allowed to list pods")
	assert.Empty(t, got)
}
