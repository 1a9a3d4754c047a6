// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"sync/atomic"
	"time"

	"github.com/otelgpu/gpureceiver/internal/nvml/device"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// handleTrust is for how long a handle is assumed to be of the same GPU. After a failure it is checked immediately.
const handleTrust = time.Minute

// handle is an index under which NVML hands out a GPU in a session. While its task has a call outstanding, what it holds belongs to the
// goroutine of that call.
type handle struct {
	finder
	lib    *library.Library
	driver string  // its version; empty: not known
	events *events // nil: none
	gpus   *knownGPUs
	task   *workers.Task
	gpu    atomic.Pointer[knownGPU] // nil: not found yet

	watched bool      // its XIDs are queued, or never will be
	suspect bool      // it did not answer the last time: make one call before all others
	checked time.Time // when the GPU last said which it is

	result *device.Result // of the last read; nil if it failed
	code   library.Code   // why it failed
	listed bool           // it failed because the GPU must be reset, and the driver still gives out its handle
}

// read reads the GPU. A panic of the binding ends here.
func (h *handle) read(now time.Time) {
	h.result, h.code, h.listed = nil, library.Panicked, false
	defer func() { _ = recover() }()
	h.result, h.code = h.tryRead(now)
	if h.code == library.ResetRequired {
		_, code := h.lib.Device(h.index)
		h.listed = code == library.OK
	}
}

func (h *handle) tryRead(now time.Time) (*device.Result, library.Code) {
	g := h.gpu.Load()
	if g != nil {
		if code := h.check(g, now); code != library.OK {
			return nil, code
		}
		g = h.gpu.Load()
	}
	if g == nil {
		h.checked = now
		var code library.Code
		if g, code = h.find(); code != library.OK {
			return nil, code
		}
	}
	result, code := g.Read(now)
	h.suspect = code != library.OK
	if code != library.OK {
		return nil, code
	}
	h.watch(g)
	if h.suspect = g.Fatal != library.OK; h.suspect {
		return nil, g.Fatal
	}
	return result, library.OK
}

// check verifies, from time to time and after a failure, that the handle still refers to the same GPU, and releases it otherwise: a
// hypervisor may have replaced the GPU. A GPU that did not answer before and does not answer this call is not read.
func (h *handle) check(g *knownGPU, now time.Time) library.Code {
	if age := now.Sub(h.checked); !h.suspect && age >= 0 && age < handleTrust {
		return library.OK
	}
	h.checked = now
	uuid, code := g.HandleUUID()
	switch {
	case code == library.OK && uuid != "" && uuid != g.UUID():
		h.gpu.Store(nil)
		h.suspect = false
		h.gpus.release(g)
	case code != library.OK && h.suspect:
		return code
	}
	return library.OK
}

// find gets the handle, and the GPU that it is of.
func (h *handle) find() (*knownGPU, library.Code) {
	d, code := h.lib.Device(h.index)
	if code != library.OK {
		return nil, code
	}
	uuid, code := d.UUID()
	if code != library.OK {
		return nil, code
	}
	g := h.gpus.take(h.lib, uuid, h.finder)
	if uuid == "" || g == nil {
		return nil, library.Unknown // which GPU it is cannot be known
	}
	if code := g.Open(d, h.index, h.driver); code != library.OK {
		return nil, code
	}
	h.watched = false
	h.watch(g)
	h.gpu.Store(g)
	return g, library.OK
}

// open finds the GPU without reading it, so that its XIDs are queued.
func (h *handle) open(now time.Time) {
	defer func() { _ = recover() }() // of the binding
	h.checked = now
	_, _ = h.find()
}

// watch has the GPU's XIDs queued.
func (h *handle) watch(g *knownGPU) {
	if !h.watched {
		h.watched = h.events.register(g)
	}
}

// outcome returns what became of the handle in the last read.
func (h *handle) outcome() outcome {
	o := outcome{handle: h.finder, gpu: h.gpu.Load()}
	switch h.task.Outcome() {
	case workers.Done:
		o.result, o.code, o.listed = h.result, h.code, h.listed
	case workers.NotBegun, workers.Late:
		o.late = true
	default:
		o.hung = true
	}
	return o
}

// fetchSamples fetches what the driver would overwrite before the next read.
func (h *handle) fetchSamples(now time.Time) {
	defer func() { _ = recover() }() // of the binding
	if g := h.gpu.Load(); g != nil && !h.suspect {
		g.FetchSamples(now)
	}
}
