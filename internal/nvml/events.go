// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"slices"
	"sync"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	eventXID   = 0x8
	mostEvents = 256 // in one drain
	mostXIDs   = 256 // kinds on one GPU
)

// events is NVML's set of events of a session. Nothing waits for an event: the set is emptied at each read, so an event's
// time is that of the read, or of the fetching of samples in between.
type events struct {
	src *source

	mu     sync.Mutex
	set    gonvml.EventSet          // nil: there is none yet
	boards map[gonvml.Device]*board // the GPU may be gone when its event comes
}

// newEvents returns nil where events are not wanted, or never to be had.
func newEvents(src *source, lib *library) *events {
	for _, f := range [...]function{fnEventSetCreate, fnEventSetFree, fnEventSetWait, fnRegisterEvents, fnSupportedEvents} {
		if !lib.has[f] {
			return nil
		}
	}
	if !src.want.Has(gpu.GroupEvents) || !src.cfg.KeepOpen {
		return nil
	}
	e := &events{src: src, boards: map[gonvml.Device]*board{}}
	e.create()
	return e
}

// create has the driver make the set, which may fail for now.
func (e *events) create() {
	if set, ret := gonvml.EventSetCreate(); code(ret) == codeOK {
		e.mu.Lock()
		e.set = set
		e.mu.Unlock()
	}
}

// ready returns the set; nil where there is none yet.
func (e *events) ready() gonvml.EventSet {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.set
}

// register has the driver queue a GPU's XIDs, and tells whether it does, or never will.
func (e *events) register(handle gonvml.Device, b *board) (settled bool) {
	if e == nil || !b.supported(fnSupportedEvents) || !b.supported(fnRegisterEvents) {
		return true
	}
	set := e.ready()
	if set == nil || !b.can(fnSupportedEvents) || !b.can(fnRegisterEvents) {
		return false // something failed, and is left alone for now
	}
	supported, ret := handle.GetSupportedEventTypes()
	if !b.ok(fnSupportedEvents, code(ret)) {
		return !b.supported(fnSupportedEvents)
	}
	if supported&eventXID == 0 {
		return true
	}
	e.src.xids.watch(b, e.src.opts.now())
	e.mu.Lock()
	e.boards[handle] = b
	e.mu.Unlock()
	return b.ok(fnRegisterEvents, code(handle.RegisterEvents(eventXID, set))) || !b.supported(fnRegisterEvents)
}

// drain takes what has happened since the last drain.
func (e *events) drain(at time.Time) {
	if e == nil {
		return
	}
	set := e.ready()
	if set == nil {
		e.create()
		return
	}
	for range mostEvents {
		data, ret := set.Wait(0)
		if code(ret) != codeOK {
			return
		}
		if data.EventType != eventXID {
			continue
		}
		e.mu.Lock()
		b := e.boards[data.Device]
		e.mu.Unlock()
		if b != nil {
			e.src.xids.add(b, int64(data.EventData), at)
		}
	}
}

func (e *events) free() {
	if e != nil && e.set != nil {
		_ = e.set.Free()
	}
}

// xids counts the XIDs of each GPU from when it was first watched, and keeps those that were not handed out yet.
type xids struct {
	mu     sync.Mutex
	counts map[*board]*xidCounts
	queue  []gpu.Event
}

type xidCounts struct {
	since time.Time
	byXID []xidCount // in order
}

type xidCount struct{ xid, n int64 }

func (x *xids) watch(b *board, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.counts == nil {
		x.counts = map[*board]*xidCounts{}
	}
	if x.counts[b] == nil {
		x.counts[b] = &xidCounts{since: now}
	}
}

func (x *xids) forget(b *board) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.counts, b)
}

func (x *xids) add(b *board, xid int64, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.counts[b]
	if c == nil {
		return // it was superseded
	}
	i, found := slices.BinarySearchFunc(c.byXID, xid, func(have xidCount, want int64) int { return cmp.Compare(have.xid, want) })
	switch {
	case found:
		c.byXID[i].n++
	case len(c.byXID) < mostXIDs:
		c.byXID = slices.Insert(c.byXID, i, xidCount{xid, 1})
	}
	if ident := b.ident.Load(); len(x.queue) < mostEvents {
		x.queue = append(x.queue, gpu.Event{
			Type: gpu.EventXID, Time: at, XID: xid,
			DeviceID: ident.id, Name: ident.name, Model: ident.model, Vendor: gpu.NVIDIA,
		})
	}
}

// take hands out what has happened since the last take.
func (x *xids) take(into []gpu.Event) []gpu.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	into = append(into, x.queue...)
	x.queue = x.queue[:0]
	return into
}

// appendErrors adds a GPU's counts.
func (x *xids) appendErrors(errors []gpu.ErrorCount, b *board) []gpu.ErrorCount {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.counts[b]; c != nil {
		for _, e := range c.byXID {
			errors = append(errors, gpu.ErrorCount{Type: gpu.ErrorXID, XID: e.xid, Count: gpu.TotalSince(e.n, c.since)})
		}
	}
	return errors
}
