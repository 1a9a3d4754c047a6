// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// after returns the pod with what is kept of its former state. before is nil if there is no former state.
func (p *Pod) after(before *Pod) *Pod {
	if before == nil {
		return p
	}
	result := *p
	result.Owners = ownersAfter(before, p)
	if p.Partial {
		result.Requests = requestsAfter(before.Requests, p.Requests)
	}
	if before.Node != "" {
		result.Allocations = allocationsAfter(before.Allocations, p.Allocations)
	}
	return &result
}

// ownersAfter returns the owners that the pod had before, if those that are known now are only the first of them: who deletes a Deployment has its
// ReplicaSet deleted before the pods, which still are the Deployment's.
func ownersAfter(before, pod *Pod) []gpu.Owner {
	now := len(pod.Owners)
	if now == 0 || now >= len(before.Owners) || !slices.Equal(pod.Owners, before.Owners[:now]) {
		return pod.Owners
	}
	return before.Owners
}

// requestsAfter returns what a pod requests whose claims cannot all be read now.
func requestsAfter(before, now []gpu.ResourceCount) []gpu.ResourceCount {
	all := slices.Clone(before)
	for _, r := range now {
		i := slices.IndexFunc(all, func(b gpu.ResourceCount) bool { return b.Resource == r.Resource })
		if i < 0 {
			all = append(all, r)
		} else {
			all[i].Count = larger(all[i].Count, r.Count)
		}
	}
	return all
}

// allocationsAfter returns what containers have. What was reported as theirs stays until the pod ends, also when the claim that gave it is gone. A claim
// that becomes known late adds to it.
func allocationsAfter(before, now []Allocation) []Allocation {
	all := slices.Clone(before)
	for _, a := range now {
		i := slices.IndexFunc(all, a.same)
		switch {
		case i >= 0:
			all[i].Count = larger(all[i].Count, a.Count)
			all[i].Shared = all[i].Shared || a.Shared
		case len(all) < MaxAllocations:
			all = append(all, a)
		}
	}
	return all
}

// larger returns the larger of two counts, and the one that is known if only one is.
func larger(a, b gpu.Opt[int64]) gpu.Opt[int64] {
	x, known := a.Get()
	if y, ok := b.Get(); ok && (!known || y > x) {
		return b
	}
	return a
}
