// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Allocation is what one container has of one resource, from when its pod is bound to a node until the pod ends: the kubelet takes nothing back from a
// container that ends before the others.
type Allocation struct {
	Container string
	Resource  string
	Count     gpu.Opt[int64] // absent if it is not known
	DRA       bool           // by a claim, otherwise from a device plugin
	Shared    bool           // by a claim that others have, too
}

// MaxAllocations bounds the allocations of a pod that are reported.
const MaxAllocations = 64

// same reports whether both are of the same resource and container.
func (a Allocation) same(b Allocation) bool {
	return a.Container == b.Container && a.Resource == b.Resource
}

// givenSince returns what the pod's containers have and did not have before: when the pod was bound, and when one of its claims became known later.
func (p *Pod) givenSince(before *Pod) []Allocation {
	switch {
	case p.Node == "":
		return nil
	case before.Node == "":
		return p.Allocations
	}
	var result []Allocation
	for _, a := range p.Allocations {
		if !slices.ContainsFunc(before.Allocations, a.same) {
			result = append(result, a)
		}
	}
	return result
}

// allocated adds what the pod's containers were given.
func (c *changes) allocated(allocations []Allocation) {
	start := c.pod.bound()
	for i := range allocations {
		c.addAllocation(gpu.EventAllocated, start, &allocations[i], &gpu.Use{Start: start, StartKnown: true})
	}
}

// released adds that the pod's containers have given back what they had. end is when, zero: when it was noticed; known is false if it is only when
// the pod was last known to exist.
func (c *changes) released(allocations []Allocation, end time.Time, known bool) {
	if c.pod.Node == "" {
		return
	}
	if end.IsZero() {
		end = c.now
	}
	start := c.pod.bound()
	if end.Before(start) { // clocks of two machines
		end = start
	}
	for i := range allocations {
		a := &allocations[i]
		use := &gpu.Use{Start: start, StartKnown: true, End: end, EndKnown: known}
		if count, ok := a.Count.Get(); ok && !a.Shared {
			use.GPUTime = gpu.Some(float64(count) * end.Sub(start).Seconds())
		}
		c.addAllocation(gpu.EventReleased, end, a, use)
	}
}

func (c *changes) addAllocation(kind gpu.EventType, eventTime time.Time, a *Allocation, use *gpu.Use) {
	p := c.pod
	holder := &gpu.Holder{
		Container: &gpu.Container{Namespace: p.Namespace, PodName: p.Name, PodUID: p.UID, Name: a.Container, Owners: p.Owners, Labels: p.Labels},
		Resource:  a.Resource,
	}
	if a.DRA {
		holder.Allocator = gpu.AllocatorDRA
	}
	if a.Shared {
		holder.Sharing = gpu.SharingClaim
	}
	if status := p.container(a.Container); status != nil {
		holder.Container.ID = status.ID
	}
	c.events = append(c.events, gpu.Event{
		Type: kind, Time: eventTime, Holder: holder, Outside: &gpu.Outside{Node: p.Node, Count: a.Count}, Use: use,
		UID: eventUID(p.Created, p.UID, words[kind], a.Container, a.Resource),
	})
}

// bound returns when the pod got its node. A pod without that time in the API was created with a node.
func (p *Pod) bound() time.Time {
	if boundTime := p.scheduled(); !boundTime.IsZero() {
		return boundTime
	}
	return p.Created
}
