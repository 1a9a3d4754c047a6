// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// Rights are the permissions that the scraper needs in a cluster, by its index in Clusters.
func (c *Config) Rights(cluster int) []kube.Right {
	rights := kube.RightsTo(kube.Right{Resource: "nodes"}, "list", "watch")
	var namespaces []string
	for _, target := range c.targetsOf(cluster) {
		if slices.Contains(namespaces, target.Namespace) {
			continue
		}
		namespaces = append(namespaces, target.Namespace)
		rights = append(rights, kube.RightsTo(kube.Right{Resource: "pods", Namespace: target.Namespace}, "list", "watch")...)
		// An exec over a WebSocket is a GET, over SPDY a POST.
		rights = append(rights, kube.RightsTo(kube.Right{Resource: "pods", Subresource: "exec", Namespace: target.Namespace}, "get", "create")...)
	}
	if c.AttributePods {
		rights = append(rights, (&kube.ViewOptions{Kinds: c.Owners.Kinds}).Rights()...)
	}
	e := c.leaderElection()
	if e == nil {
		return rights
	}
	namespace, err := e.namespace()
	if err != nil {
		return rights // New says why
	}
	leases := kube.Right{Group: "coordination.k8s.io", Resource: "leases", Namespace: namespace}
	return append(rights, kube.RightsTo(leases, "list", "create", "update", "delete")...)
}
