// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// doubtEarly notes what the kubelet does not tell: which devices init containers have that end before the others of their pod
// begin. Where the API tells that there are such, they are not said to hold nothing, nor is a GPU said to be nobody's that may be
// theirs.
func (a *Attributor) doubtEarly(node *gpu.Node, d *domain) {
	clear(d.early)
	if a.containers.view == nil {
		return
	}
	var kept int64
	var of string
	for _, pod := range a.containers.view.Pods.Early() {
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
	node.Problems = append(node.Problems, gpu.Problem{What: "allocations to init containers", Err: fmt.Errorf(
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
