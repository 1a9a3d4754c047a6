// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// attributeAllocations sets the holders of each device.
func (a *Attributor) attributeAllocations(ctx context.Context, node *gpu.Node, d *domain, now time.Time) {
	for i := range node.Devices {
		node.Devices[i].Holders, node.Devices[i].HoldersKnown = nil, false
	}
	d.certain = slices.Grow(d.certain[:0], len(node.Devices))[:len(node.Devices)]
	clear(d.certain)
	if a.allocations == nil || len(node.Devices) == 0 {
		return
	}
	list, known, err := a.allocations.list(ctx, now)
	if err != nil {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemAllocations, What: "pod resources", Err: err})
	}
	if known == nothing {
		return
	}
	early := a.earlyPods()
	dynamic := slices.ContainsFunc(list, func(allocation podresources.Allocation) bool { return allocation.Dynamic != nil })
	if dynamic {
		if err := a.allocations.resolver.cdi.Refresh(); err != nil {
			node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemAllocations, What: "CDI", Err: fmt.Errorf("attribution: %w", err)})
		}
	}
	a.allocations.resolver.lookUpClaims(ctx, list, claimsOf(early))
	list = a.allocations.resolver.withEarly(list, early)
	a.allocations.resolver.prepare(ctx, list)
	for i := range d.certain {
		d.certain[i] = known == everything
	}
	lost := &unresolved{}
	for i := range list {
		a.allocate(node, d, &list[i], lost)
	}
	if lost.count > 0 {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemAllocations, What: "allocations", Err: lost.err()})
	}
	a.doubtEarly(node, d, early)
	settle(node, d)
}

// allocate adds one allocation to the holders of its devices.
func (a *Attributor) allocate(node *gpu.Node, d *domain, allocation *podresources.Allocation, lost *unresolved) {
	holder := gpu.Holder{Resource: allocation.Resource}
	var keys []string
	var single [1]string
	var wanted bool // all devices of this resource or driver are GPUs
	var vendor gpu.Vendor
	extended := false
	if dynamic := allocation.Dynamic; dynamic != nil {
		holder.Resource, holder.DRA = dynamic.Driver, true
		vendor, wanted = vendorOf(dynamic.Driver), isGPUDriver(dynamic)
		if vendor != "" && vendor != node.Vendor {
			return
		}
		name := podContainer{namespace: allocation.Namespace, pod: allocation.Pod, name: allocation.Container}
		if !a.allocations.resolver.holds(a.containers.podNamed(name, &d.users), allocation.Container, dynamic) {
			return // the device is others'
		}
		keys = a.allocations.resolver.resolve(dynamic, &d.index)
	} else {
		t := parseID(allocation.Resource, allocation.ID)
		vendor, wanted, holder.Sharing = t.vendor, IsGPUResource(allocation.Resource) || t.extended, t.sharing
		if vendor != "" && vendor != node.Vendor {
			return
		}
		extended = t.extended
		if t.key != "" {
			single[0] = t.key
			keys = single[:]
		}
	}
	found := false
	for _, key := range keys {
		for _, i := range d.index.find(key) {
			found = true
			a.hold(node, d, i, allocation, holder)
		}
	}
	if !found && wanted {
		lost.add(allocation, !d.doubt(len(keys) > 0 && !extended))
	}
}

// doubt notes which devices may be allocated by an id that was not found, and tells whether there are any: where the id is in a
// known form, those of which not all names are known, otherwise all.
func (d *domain) doubt(known bool) bool {
	doubted := false
	for i, unnamed := range d.index.unnamed {
		if unnamed || !known {
			d.certain[i], doubted = false, true
		}
	}
	return doubted
}

// hold adds a holder to a device, once however many slots of it the container has.
func (a *Attributor) hold(node *gpu.Node, d *domain, i int, allocation *podresources.Allocation, holder gpu.Holder) {
	name := podContainer{namespace: allocation.Namespace, pod: allocation.Pod, name: allocation.Container}
	if a.ended(d, name) {
		return
	}
	holder.Container = a.containers.holder(name, &d.users)
	device := &node.Devices[i]
	for j := range device.Holders {
		if device.Holders[j].Container == holder.Container {
			return
		}
	}
	device.Holders = append(device.Holders, holder)
}

// ended tells whether the API knows that a pod has ended. Kubelets before 1.34 list pods that have ended with the devices
// that they once had.
func (a *Attributor) ended(d *domain, name podContainer) bool {
	pod := a.containers.podNamed(name, &d.users)
	return pod != nil && pod.Ended()
}
