// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

// resourceAPI is the group of dynamic resource allocation.
const resourceAPI = "resource.k8s.io"

// Rights are the permissions that a View with these options needs.
func (o *ViewOptions) Rights() []Right {
	rights := RightsTo(Right{Resource: "pods"}, "list", "watch")
	verbs := []string{"list", "watch"}
	if o.Pods.Node != "" { // see NewView
		verbs = []string{"get"}
	}
	for _, kind := range parseKinds(o.Kinds) {
		rights = append(rights, RightsTo(Right{Group: kind.Group, Resource: kind.Resource}, verbs...)...)
	}
	if o.Devices {
		rights = append(rights, RightsTo(Right{Group: resourceAPI, Resource: "resourceslices", Optional: true}, "list", "watch")...)
		rights = append(rights, RightsTo(Right{Group: resourceAPI, Resource: "resourceclaims", Optional: true}, "get")...)
	}
	return rights
}

// NodeLabelsRights are what NodeLabels of a node need.
func NodeLabelsRights(node string) []Right {
	return RightsTo(Right{Resource: "nodes", Name: node}, "get")
}

// ClaimRights are what WatchedClaims need.
func ClaimRights() []Right {
	return RightsTo(Right{Group: resourceAPI, Resource: "resourceclaims"}, "list", "watch")
}
