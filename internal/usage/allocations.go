// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxAllocations bounds the allocations that are followed. No machine has so many.
const maxAllocations = 4096

// allocations follows which containers hold which devices.
type allocations struct {
	open  map[allocationKey]*Allocation
	known knownAt // when all holders of a device were known
}

// allocationKey identifies an allocation as its allocator does: the kubelet, which knows neither UIDs nor instances of containers, or Slurm,
// which knows no pods.
type allocationKey struct{ device, namespace, pod, container, job string }

func keyOf(device string, c *gpu.Container) allocationKey {
	if c.SlurmJob != "" {
		return allocationKey{device: device, job: c.SlurmJob}
	}
	return allocationKey{device: device, namespace: c.Namespace, pod: c.PodName, container: c.Name}
}

func (a *Allocation) key() allocationKey { return keyOf(a.Device.ID, &a.Container) }

func (k allocationKey) compare(other allocationKey) int {
	return cmp.Or(cmp.Compare(k.device, other.device), cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.pod, other.pod),
		cmp.Compare(k.container, other.container), cmp.Compare(k.job, other.job))
}

// next returns an event for each allocation that has ended, and for each that has begun or that is seen for the first time. An
// allocation goes on while the holders of its device are not all known, and while its container is restarted.
func (a *allocations) next(
	node *gpu.Node, devices map[string]*gpu.Device, longest time.Duration, unreadable func(*Device, *Period) bool,
) []gpu.Event {
	anyComplete := slices.ContainsFunc(node.Devices, func(d gpu.Device) bool { return d.HoldersComplete })
	uses := make(map[allocationKey]*gpu.ContainerUse)
	for i := range node.Containers {
		use := &node.Containers[i]
		if allocated, _ := use.Allocated.Get(); allocated && devices[use.DeviceID] != nil {
			uses[keyOf(use.DeviceID, use.Container)] = use
		}
	}
	var events []gpu.Event
	for _, key := range slices.SortedFunc(maps.Keys(a.open), allocationKey.compare) {
		open, use, d := a.open[key], uses[key], devices[key.device]
		switch {
		case use != nil && samePod(&open.Container, use.Container):
			open.add(use, holderCount(d, use.Container), node.Time, longest)
			delete(uses, key)
			continue
		case use == nil && d != nil && !d.HoldersComplete, d == nil && (!anyComplete || unreadable(&open.Device, &open.Period)):
			continue // it is not known to have ended
		}
		events = append(events, open.released(node.Time, longest))
		delete(a.open, key)
	}
	for _, key := range slices.SortedFunc(maps.Keys(uses), allocationKey.compare) {
		if len(a.open) >= maxAllocations {
			break
		}
		use, d := uses[key], devices[key.device]
		opened := &Allocation{
			Period: Period{Start: node.Time.Round(0), StartKnown: a.known.knew(d, node.Time, longest)},
			Device: deviceOf(d), Resource: use.Resource, Allocator: use.Allocator,
		}
		opened.add(use, holderCount(d, use.Container), node.Time, longest)
		a.open[key] = opened
		events = append(events, opened.event(gpu.EventAllocated, node.Time, opened.use()))
	}
	a.known.update(node, devices, func(d *gpu.Device) bool { return d.HoldersComplete })
	return events
}

// holderCount returns how many jobs hold a device if the container is in a job, else how many containers: a container in a job holds the device for
// the job.
func holderCount(d *gpu.Device, c *gpu.Container) int {
	found := 0
	for i := range d.Holders {
		if d.Holders[i].Container.InJob() == c.InJob() {
			found++
		}
	}
	return found
}

// samePod reports whether nothing shows that a container is in another pod of the same name.
func samePod(a, b *gpu.Container) bool {
	return a.PodUID == b.PodUID || a.PodUID == "" || b.PodUID == ""
}

// add adds what a read shows. If the allocation was last seen longer ago than longest, the time in between is not counted, nor are idle time and energy:
// it was not observed, or the clock was set forward.
func (a *Allocation) add(use *gpu.ContainerUse, holders int, now time.Time, longest time.Duration) {
	before := a.Seen
	if since := now.Sub(a.Seen); !a.Seen.IsZero() && since > 0 && since <= longest {
		a.GPUTime += since.Seconds() / float64(max(holders, 1))
	}
	a.Container = merged(&a.Container, use.Container)
	a.Seen, a.Holders, a.Sharing = now.Round(0), holders, use.Sharing
	a.Idle.add(use.IdleTime, before)
	a.Busy.add(use.BusyTime, before)
	a.Energy.add(use.Energy, before)
	a.Memory.add(use.MemoryUsage)
}

// merged returns what is known about a container: what a read says, and what an earlier one did that this one does not.
func merged(before, now *gpu.Container) gpu.Container {
	c := *now
	c.PodUID, c.ID = cmp.Or(c.PodUID, before.PodUID), cmp.Or(c.ID, before.ID)
	if c.Owners == nil {
		c.Owners = before.Owners
	}
	if c.Labels == nil {
		c.Labels = before.Labels
	}
	return c
}

// released returns the event that reports the end of the allocation. end is the time of the read that no longer showed it.
func (a *Allocation) released(end time.Time, longest time.Duration) gpu.Event {
	u := a.ended(end, longest)
	gpuTime := a.GPUTime
	if since := u.End.Sub(a.Seen); since > 0 {
		gpuTime += since.Seconds() / float64(max(a.Holders, 1))
	}
	u.GPUTime, u.IdleTime, u.BusyTime, u.Energy = gpu.Some(gpuTime), a.Idle.value(), a.Busy.value(), a.Energy.value()
	a.Memory.set(u)
	return a.event(gpu.EventReleased, end, u)
}

func (a *Allocation) event(kind gpu.EventType, eventTime time.Time, u *gpu.Use) gpu.Event {
	container := a.Container
	e := gpu.Event{Type: kind, Time: eventTime, Use: u, Holder: &gpu.Holder{Container: &container, Resource: a.Resource, Allocator: a.Allocator, Sharing: a.Sharing}}
	a.Device.setEvent(&e)
	return e
}
