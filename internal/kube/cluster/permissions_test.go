// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The permissions equal the permissions in deploy/kubernetes/cluster, components/cluster-events and components/cluster-claims.
func TestPermissions(t *testing.T) {
	texts := func(kinds ...string) []string {
		var all []string
		for _, permission := range Permissions(kinds, nil) {
			all = append(all, permission.String())
		}
		return all
	}
	own := []string{"list pods", "watch pods", "list nodes", "watch nodes"}
	assert.ElementsMatch(t, own, texts())
	assert.ElementsMatch(t, append(own, "list replicasets.apps", "watch replicasets.apps"), texts("replicasets.apps"))
	var claims []string
	for _, permission := range Permissions(nil, []string{"gpu.nvidia.com"}) {
		claims = append(claims, permission.String())
	}
	assert.ElementsMatch(t, append(own, "list resourceclaims.resource.k8s.io", "watch resourceclaims.resource.k8s.io"), claims)
}
