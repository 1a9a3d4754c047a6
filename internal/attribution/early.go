// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// earlyPods are the pods whose init containers have devices that the kubelet does not tell, as far as the API tells.
func (a *Attributor) earlyPods() []*kube.Pod {
	if a.containers.view == nil {
		return nil
	}
	return a.containers.view.Pods.Early()
}

func claimsOf(early []*kube.Pod) []kube.Claim {
	var claims []kube.Claim
	for _, pod := range early {
		for _, of := range pod.Early.Claims {
			claims = append(claims, kube.Claim{Namespace: pod.Namespace, Name: of.Claim})
		}
	}
	return claims
}

// withEarly adds the devices of claims that no container of a pod has but its init containers: they are the pod's for as long as it
// is there.
func (r *dynamicResolver) withEarly(list []podresources.Allocation, early []*kube.Pod) []podresources.Allocation {
	if r.claims == nil {
		return list
	}
	told := list
	list = slices.Clip(list)
	for _, pod := range early {
		for _, of := range pod.Early.Claims {
			claim := kube.Claim{Namespace: pod.Namespace, Name: of.Claim}
			for _, device := range r.claims.Devices(claim, pod.Requests(of.Container, of.Claim)) {
				d := &podresources.Dynamic{
					ClaimNamespace: pod.Namespace, Claim: of.Claim, Driver: device.Driver, Pool: device.Pool, Device: device.Device,
				}
				if !slices.ContainsFunc(told, func(b podresources.Allocation) bool {
					return b.Dynamic != nil && b.Pod == pod.Name && claimedOf(b.Dynamic) == claimedOf(d) && r.holds(pod, b.Container, b.Dynamic)
				}) {
					list = append(list, podresources.Allocation{Namespace: pod.Namespace, Pod: pod.Name, Container: of.Container, Dynamic: d})
				}
			}
		}
	}
	return list
}

// doubtEarly notes what the kubelet does not tell: which devices init containers have that end before the others of their pod
// begin. Where the API tells that there are such, they are not said to hold nothing, nor is a GPU said to be nobody's that may be
// theirs.
func (a *Attributor) doubtEarly(node *gpu.Node, d *domain, early []*kube.Pod) {
	clear(d.early)
	var kept int64
	var of string
	for _, pod := range early {
		for _, name := range pod.Early.Containers {
			d.early[podContainer{namespace: pod.Namespace, pod: pod.Name, name: name}] = struct{}{}
		}
		for resource, count := range pod.Early.Kept {
			if IsGPUResource(resource) && vendorOf(resource) == node.Vendor {
				kept += count
				of = max(of, pod.Namespace+"/"+pod.Name) // one of them, and not another each time
			}
		}
	}
	if kept == 0 {
		return
	}
	for i := range node.Devices {
		if mayBeKept(node.Devices[i].Holders) {
			d.certain[i] = false
		}
	}
	node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemAllocations, What: "allocations to init containers", Err: fmt.Errorf(
		"attribution: the kubelet does not tell which GPUs it keeps for init containers, %d in all, as those of pod %s; "+
			"GPUs that it tells nobody to hold may be these", kept, of)})
}

// mayBeKept tells whether a device may be kept for an init container beside those who are told to hold it.
func mayBeKept(holders []gpu.Holder) bool {
	for i := range holders {
		if holders[i].Sharing == gpu.SharingExclusive {
			return false
		}
	}
	return true
}

// isEarly tells whether a container is one of whose allocations nothing is told.
func (d *domain) isEarly(c *gpu.Container) bool {
	_, early := d.early[podContainer{namespace: c.Namespace, pod: c.PodName, name: c.Name}]
	return early
}

// isEarlyOf tells whether one is such a container of the pod that the other is in.
func (d *domain) isEarlyOf(c, other *gpu.Container) bool {
	return c.Namespace == other.Namespace && c.PodName == other.PodName && d.isEarly(c)
}
