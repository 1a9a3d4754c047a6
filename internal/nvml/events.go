// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// eventFunctions are what events need, in addition to the functions that register GPUs.
var eventFunctions = [...]*library.Function{
	library.NewFunction("events", "nvmlEventSetCreate"),
	library.NewFunction("events", "nvmlEventSetFree"),
	library.NewFunction("events", "nvmlEventSetWait_v2", "nvmlEventSetWait"),
	library.NewFunction("events", "nvmlDeviceRegisterEvents"),
	library.NewFunction("events", "nvmlDeviceGetSupportedEventTypes"),
}

// events is NVML's set of events of a session. No thread waits for an event: the set is emptied at each read, and once a second between
// reads if a consumer wants events (eventWatch). So the time of an event is the time of the poll; NVML has no other.
type events struct {
	lib  *library.Library
	xids *xids
	now  func() time.Time

	mu   sync.Mutex
	set  library.EventSet                  // nil before it is created
	gpus map[library.BoundDevice]*knownGPU // the GPU may be gone when its event comes
}

// newEvents returns nil if the library has no events.
func newEvents(lib *library.Library, xids *xids, now func() time.Time) *events {
	for _, f := range eventFunctions {
		if !lib.Has(f) {
			return nil
		}
	}
	e := &events{lib: lib, xids: xids, now: now, gpus: map[library.BoundDevice]*knownGPU{}}
	e.create()
	return e
}

// create has the driver make the set, which may fail for now.
func (e *events) create() {
	if set, code := e.lib.NewEventSet(); code == library.OK {
		e.mu.Lock()
		e.set = set
		e.mu.Unlock()
	}
}

// ready returns the set; nil before it is created.
func (e *events) ready() library.EventSet {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.set
}

// register has the driver queue a GPU's XIDs, and reports whether it does, or never will.
func (e *events) register(g *knownGPU) (settled bool) {
	if e == nil {
		return true
	}
	return g.RegisterXIDs(e.ready(), func(d library.BoundDevice) {
		e.xids.watch(g, e.now())
		e.mu.Lock()
		defer e.mu.Unlock()
		e.gpus[d] = g
	})
}

// take takes what has happened since the last call.
func (e *events) take(now time.Time) {
	if e == nil {
		return
	}
	set := e.ready()
	if set == nil {
		e.create()
		return
	}
	for range maxEvents {
		event, ret := set.Wait(0)
		if library.Code(ret) != library.OK {
			return
		}
		e.mu.Lock()
		g := e.gpus[event.Device]
		e.mu.Unlock()
		if g == nil {
			continue
		}
		g.Happened()
		if event.EventType == library.EventXID {
			e.xids.add(g, int64(event.EventData), instanceOf(g, event.GpuInstanceId, event.ComputeInstanceId), now)
		}
	}
}

func (e *events) free() {
	if e != nil && e.set != nil {
		_ = e.set.Free()
	}
}
