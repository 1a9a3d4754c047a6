// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The permissions equal the permissions in deploy/kubernetes/cluster, components/cluster-events and components/cluster-claims.
func TestRights(t *testing.T) {
	texts := func(kinds ...string) []string {
		var all []string
		for _, right := range Rights(kinds, nil) {
			all = append(all, right.String())
		}
		return all
	}
	own := []string{"list pods", "watch pods", "list nodes", "watch nodes"}
	assert.ElementsMatch(t, own, texts())
	assert.ElementsMatch(t, append(own, "list replicasets.apps", "watch replicasets.apps"), texts("replicasets.apps"))
	var claims []string
	for _, right := range Rights(nil, []string{"gpu.nvidia.com"}) {
		claims = append(claims, right.String())
	}
	assert.ElementsMatch(t, append(own, "list resourceclaims.resource.k8s.io", "watch resourceclaims.resource.k8s.io"), claims)
}
