// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/otelgpu/gpureceiver/internal/kube"

// Rights are the permissions of a View that knows the owners of these kinds and, if there are any, claims for devices of these classes.
func Rights(kinds, classes []string) []kube.Right {
	rights := append((&kube.ViewOptions{Kinds: kinds}).Rights(), kube.RightsTo(kube.Right{Resource: "nodes"}, "list", "watch")...)
	if len(classes) > 0 {
		rights = append(rights, kube.ClaimRights()...)
	}
	return rights
}
