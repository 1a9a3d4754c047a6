// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/otelgpu/gpureceiver/internal/kube"

// Permissions are the permissions of a View that knows the owners of these kinds and, if there are any, claims for devices of these classes.
func Permissions(kinds, classes []string) []kube.Permission {
	permissions := append((&kube.ViewOptions{Kinds: kinds}).Permissions(), kube.PermissionsTo(kube.Permission{Resource: "nodes"}, "list", "watch")...)
	if len(classes) > 0 {
		permissions = append(permissions, kube.ClaimPermissions()...)
	}
	return permissions
}
