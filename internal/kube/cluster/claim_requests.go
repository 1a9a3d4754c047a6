// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
)

// claimRequests returns what the claims of a pod request, and for which containers. allocatedOnly: while the pod has a node and has not ended, only
// claims that have allocated devices are for containers.
func claimRequests(pod *storedPod, get func(name string) *kube.RequestedClaim, allocatedOnly bool) (requests []gpu.ResourceCount, allocations []lifecycle.Allocation) {
	for i := range pod.claims {
		claim := get(pod.claims[i].Name)
		if claim == nil {
			continue
		}
		for _, r := range claim.Requests {
			requests = lifecycle.AddRequests(requests, []gpu.ResourceCount{{Resource: r.Class, Count: r.Count}})
			if allocatedOnly && pod.node != "" && !claim.Allocated {
				continue
			}
			first := len(allocations)
			for _, use := range pod.claims[i].Uses {
				if use.Request == "" || use.Request == r.Name {
					allocations = append(allocations, lifecycle.Allocation{Container: use.Container, Resource: r.Class, Count: r.Count, DRA: true, Shared: claim.Users > 1})
				}
			}
			if uses := allocations[first:]; len(uses) > 1 {
				for j := range uses {
					uses[j].Shared = true
				}
			}
		}
	}
	return requests, summed(allocations)
}

// summed returns one allocation for each container and class, up to a bound.
func summed(all []lifecycle.Allocation) []lifecycle.Allocation {
	var sums []lifecycle.Allocation
	for _, a := range all {
		i := slices.IndexFunc(sums, func(sum lifecycle.Allocation) bool { return sum.Container == a.Container && sum.Resource == a.Resource })
		switch {
		case i >= 0:
			sum := lifecycle.AddRequests([]gpu.ResourceCount{{Count: sums[i].Count}}, []gpu.ResourceCount{{Count: a.Count}})
			sums[i].Count, sums[i].Shared = sum[0].Count, sums[i].Shared || a.Shared
		case len(sums) < lifecycle.MaxAllocations:
			sums = append(sums, a)
		}
	}
	return sums
}

// claimsOf returns what containers request by claims now, of a snapshot.
func (v *View) claimsOf(pod *storedPod) []lifecycle.Allocation {
	if v.claims == nil || len(pod.claims) == 0 {
		return nil
	}
	_, allocations := claimRequests(pod, func(name string) *kube.RequestedClaim {
		return v.claims.Get(kube.Claim{Namespace: pod.Namespace, Name: name})
	}, false)
	return allocations
}
