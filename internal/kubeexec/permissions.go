// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// Permissions are the permissions that the scraper needs in a cluster, by its index in Clusters.
func (c *Config) Permissions(cluster int) []kube.Permission {
	permissions := kube.PermissionsTo(kube.Permission{Resource: "nodes"}, "list", "watch")
	var namespaces []string
	for _, target := range c.targetsOf(cluster) {
		if slices.Contains(namespaces, target.Namespace) {
			continue
		}
		namespaces = append(namespaces, target.Namespace)
		permissions = append(permissions, kube.PermissionsTo(kube.Permission{Resource: "pods", Namespace: target.Namespace}, "list", "watch")...)
		// An exec over a WebSocket is a GET, over SPDY a POST.
		permissions = append(permissions, kube.PermissionsTo(kube.Permission{Resource: "pods", Subresource: "exec", Namespace: target.Namespace}, "get", "create")...)
	}
	if c.AttributePods {
		permissions = append(permissions, (&kube.ViewOptions{Kinds: c.Owners.Kinds}).Permissions()...)
	}
	e := c.leaderElection()
	if e == nil {
		return permissions
	}
	namespace, err := e.namespace()
	if err != nil {
		return permissions // New says why
	}
	leases := kube.Permission{Group: "coordination.k8s.io", Resource: "leases", Namespace: namespace}
	return append(permissions, kube.PermissionsTo(leases, "list", "create", "update", "delete")...)
}
