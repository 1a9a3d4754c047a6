// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/otelgpu/gpureceiver/internal/kube"

// Rights are what a View needs that knows the owners of these kinds.
func Rights(kinds []string) []kube.Right {
	return append((&kube.ViewOptions{Kinds: kinds}).Rights(), kube.RightsTo(kube.Right{Resource: "nodes"}, "list", "watch")...)
}
