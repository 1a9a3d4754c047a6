// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/device"
)

const (
	maxXIDs   = 256 // numbers on one GPU; NVIDIA has fewer than 200
	maxEvents = 256 // taken at a time, and kept for the next read
	// maxCountedInstances bounds of how many MIG instances of one GPU there are counts: the partitioning may change any number of times.
	maxCountedInstances = 64
)

// xids counts the XIDs of each GPU from when it was first watched, and keeps those that were not handed on yet.
type xids struct {
	mu      sync.Mutex
	counts  map[*knownGPU]*xidCounts
	queue   []gpu.Event
	dropped int // events that queue had no room for, since they were last taken
}

type xidCounts struct {
	since      time.Time
	own        numbered            // of no known instance
	byInstance map[string]numbered // by the ID of the MIG instance
}

// numbered are counts in the order of their numbers.
type numbered []xidCount

type xidCount struct{ xid, n int64 }

func (c *numbered) add(xid int64) {
	i, found := slices.BinarySearchFunc(*c, xid, func(have xidCount, want int64) int { return cmp.Compare(have.xid, want) })
	switch {
	case found:
		(*c)[i].n++
	case len(*c) < maxXIDs:
		*c = slices.Insert(*c, i, xidCount{xid, 1})
	}
}

// add counts an XID once: for the instance if it is known, otherwise for the GPU.
func (c *xidCounts) add(xid int64, instance *device.Identity) {
	if instance == nil {
		c.own.add(xid)
		return
	}
	counts, known := c.byInstance[instance.ID]
	if !known && len(c.byInstance) >= maxCountedInstances {
		c.own.add(xid)
		return
	}
	counts.add(xid)
	c.byInstance[instance.ID] = counts
}

// watch starts to count, unless it has started already.
func (x *xids) watch(g *knownGPU, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.counts == nil {
		x.counts = map[*knownGPU]*xidCounts{}
	}
	if x.counts[g] == nil {
		x.counts[g] = &xidCounts{since: now, byInstance: map[string]numbered{}}
	}
}

func (x *xids) forget(g *knownGPU) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.counts, g)
}

// add counts an XID on a GPU, and keeps it as an event of the MIG instance that it concerns, or with nil of the GPU.
func (x *xids) add(g *knownGPU, xid int64, instance *device.Identity, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.counts[g]
	if c == nil {
		return // the GPU was forgotten
	}
	c.add(xid, instance)
	id := cmp.Or(instance, g.Identity())
	x.keep(gpu.Event{
		Type: gpu.EventXID, Time: now, XID: xid, DeviceID: id.ID, Parent: id.Parent, Name: id.Name, Model: id.Model, Vendor: gpu.NVIDIA,
	})
}

// keep queues an event. When the queue is full, the last event of the same device and code counts for it too. If there is no such event, it
// is dropped.
func (x *xids) keep(e gpu.Event) {
	if len(x.queue) < maxEvents {
		x.queue = append(x.queue, e)
		return
	}
	for i := range slices.Backward(x.queue) {
		if last := &x.queue[i]; last.DeviceID == e.DeviceID && last.XID == e.XID {
			if last.Count == 0 {
				last.Count, last.First = 1, last.Time
			}
			last.Count++
			last.Time = e.Time
			return
		}
	}
	x.dropped++
}

// instanceOf returns the MIG instance of a GPU that an event names by its numbers; nil if it names no instance, or an unknown one. The
// number of the compute instance may be missing, and does not matter if the GPU instance has only one.
func instanceOf(g *knownGPU, gpuInstance, computeInstance uint32) *device.Identity {
	var identities []*device.Identity
	for _, i := range g.Instances() {
		gi, ok := i.GPUInstance.Get()
		if !ok || int64(gi) != int64(gpuInstance) {
			continue
		}
		if ci, ok := i.ComputeInstance.Get(); ok && int64(ci) == int64(computeInstance) {
			return i
		}
		identities = append(identities, i)
	}
	if len(identities) == 1 && computeInstance == noInstance {
		return identities[0]
	}
	return nil
}

// noInstance means "none" in an event.
const noInstance = math.MaxUint32

// take returns what has happened since the last call.
func (x *xids) take() []gpu.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	queue := x.queue
	x.queue = nil
	return queue
}

// takeDropped returns how many events were dropped since the last call.
func (x *xids) takeDropped() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	dropped := x.dropped
	x.dropped = 0
	return dropped
}

// setTotals sets the counts of a GPU, which is the first of the devices, and of its MIG instances.
func (x *xids) setTotals(g *knownGPU, devices []gpu.Device) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.counts[g]
	if c == nil {
		return
	}
	for i := range devices {
		d := &devices[i]
		counts := c.own
		if i > 0 {
			counts = c.byInstance[d.ID]
		}
		if d.Unread {
			continue
		}
		for _, e := range counts {
			d.XIDs = append(d.XIDs, gpu.XIDCount{XID: e.xid, Count: gpu.TotalSince(e.n, c.since)})
		}
	}
}
