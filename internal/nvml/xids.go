// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	maxXIDs   = 256 // numbers on one GPU
	maxEvents = 256 // taken at a time, and kept for the next read
)

// xids counts the XIDs of each GPU from when it was first watched, and keeps those that no node has had yet.
type xids struct {
	mu     sync.Mutex
	counts map[*knownGPU]*xidCounts
	queue  []gpu.Event
}

type xidCounts struct {
	since time.Time
	byXID []xidCount // in order
}

type xidCount struct{ xid, n int64 }

// watch begins to count, unless that has begun.
func (x *xids) watch(g *knownGPU, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.counts == nil {
		x.counts = map[*knownGPU]*xidCounts{}
	}
	if x.counts[g] == nil {
		x.counts[g] = &xidCounts{since: now}
	}
}

func (x *xids) forget(g *knownGPU) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.counts, g)
}

func (x *xids) add(g *knownGPU, xid int64, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.counts[g]
	if c == nil {
		return // the GPU was forgotten
	}
	i, found := slices.BinarySearchFunc(c.byXID, xid, func(have xidCount, want int64) int { return cmp.Compare(have.xid, want) })
	switch {
	case found:
		c.byXID[i].n++
	case len(c.byXID) < maxXIDs:
		c.byXID = slices.Insert(c.byXID, i, xidCount{xid, 1})
	}
	if i := g.Identity(); len(x.queue) < maxEvents {
		x.queue = append(x.queue, gpu.Event{
			Type: gpu.EventXID, Time: at, XID: xid, DeviceID: i.ID, Name: i.Name, Model: i.Model, Vendor: gpu.NVIDIA,
		})
	}
}

// take returns what has happened since the last call.
func (x *xids) take() []gpu.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	taken := x.queue
	x.queue = nil
	return taken
}

// appendErrors adds a GPU's counts.
func (x *xids) appendErrors(errors []gpu.ErrorCount, g *knownGPU) []gpu.ErrorCount {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.counts[g]; c != nil {
		for _, e := range c.byXID {
			errors = append(errors, gpu.ErrorCount{Type: gpu.ErrorXID, XID: e.xid, Count: gpu.TotalSince(e.n, c.since)})
		}
	}
	return errors
}
