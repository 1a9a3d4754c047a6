// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"sync/atomic"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// session is the time between nvmlInit and nvmlShutdown.
type session struct {
	lib    *library
	driver string // its version
	slots  []*slot
	events *events // nil: not wanted, or not possible

	busy  atomic.Bool  // with what concerns all GPUs
	count atomic.Int64 // GPUs that NVML counts now
}

// look sees whether NVML still counts as many GPUs, and what has happened to them.
func (s *session) look(at time.Time) {
	defer s.busy.Store(false)
	defer func() { _ = recover() }()
	if n, ret := gonvml.DeviceGetCount(); code(ret) == codeOK {
		s.count.Store(int64(min(n, mostGPUs)))
	}
	s.events.drain(at)
}

// outdated tells whether NVML counts other GPUs than when the session began.
func (s *session) outdated() bool { return s.count.Load() != int64(len(s.slots)) }

// slot is an index under which NVML hands out a GPU. What it holds belongs to whoever made it busy.
type slot struct {
	session *session
	src     *source
	index   int
	busy    atomic.Bool
	board   atomic.Pointer[board]

	watched bool      // its XIDs are queued, or never will be
	suspect bool      // it did not answer the last time: ask one thing before all others
	asked   time.Time // when it last said which GPU it is
	out     *reading  // of the last sweep; nil where it failed
	ret     code      // why it failed
}

// sweep reads the GPU. Whatever comes out of the driver or the binding stays here.
func (s *slot) sweep(at time.Time) {
	defer s.busy.Store(false)
	defer func() {
		if recover() != nil {
			s.out, s.ret = nil, codePanicked
		}
	}()
	s.out, s.ret = nil, codeOK
	b := s.board.Load()
	if b != nil {
		if s.ret = s.check(b, at); s.ret != codeOK {
			return
		}
		b = s.board.Load()
	}
	if b == nil {
		s.asked = at
		if b, s.ret = s.find(); s.ret != codeOK {
			return
		}
	}
	out := b.read(at)
	if !s.watched && b.fatal == codeOK {
		s.watched = s.session.events.register(b.handle, b)
	}
	s.suspect = b.fatal != codeOK
	if s.ret = b.fatal; s.ret == codeOK {
		s.out = out
	}
}

// find gets the handle, and the board that it is of.
func (s *slot) find() (*board, code) {
	handle, ret := gonvml.DeviceGetHandleByIndex(s.index)
	if code(ret) != codeOK {
		return nil, code(ret)
	}
	uuid, ret := uuidOf(handle)
	if code(ret) != codeOK {
		return nil, code(ret)
	}
	b := s.src.adopt(uuid, s)
	if uuid == "" || b == nil {
		return nil, codeUnknown // what it is cannot be told
	}
	ident := b.ident.Load()
	if driver := s.session.driver; ident == nil || driver != "" && ident.info.DriverVersion != driver {
		if ident != nil {
			b.renew()
		}
		if fatal := b.identify(handle, s.index, driver); fatal != codeOK {
			return nil, fatal
		}
	}
	b.handle, b.device, b.fatal = handle, pointer(handle), codeOK
	s.watched = s.session.events.register(handle, b)
	s.board.Store(b)
	return b, codeOK
}

// drain fetches what the driver would overwrite before the next read.
func (s *slot) drain(at time.Time) {
	defer s.busy.Store(false)
	defer func() { _ = recover() }()
	if b := s.board.Load(); b != nil && !s.suspect {
		b.at, b.horizon = at, horizon(at)
		b.drainSamples()
	}
}

// openSession initialises NVML and sees how many GPUs there are.
func openSession(src *source, lib *library) (*session, code) {
	if ret := lib.init(); ret != codeOK {
		return nil, ret
	}
	s := &session{lib: lib}
	if lib.has[fnDriverVersion] {
		if version, ret := driverVersion(); code(ret) == codeOK {
			s.driver = version
		}
	}
	n, ret := gonvml.DeviceGetCount()
	if code(ret) != codeOK {
		lib.shutdown()
		return nil, code(ret)
	}
	s.events = newEvents(src, lib)
	for i := range min(n, mostGPUs) {
		s.slots = append(s.slots, &slot{session: s, src: src, index: i})
	}
	s.count.Store(int64(len(s.slots)))
	return s, codeOK
}

// mostGPUs bounds what a driver may claim to have.
const mostGPUs = 256

// close lets go of the driver. No call on the session may be outstanding.
func (s *session) close() {
	for _, sl := range s.slots {
		if b := sl.board.Load(); b != nil {
			b.release()
		}
	}
	s.events.free()
	s.lib.shutdown()
}

// release gives back what a board holds of a session.
func (b *board) release() {
	b.gpm.free()
	for _, inst := range b.migs {
		inst.gpm.free()
	}
	b.gpmRequest.free()
	b.handle, b.device = nil, nil
}
