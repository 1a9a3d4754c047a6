// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// failure is why NVML cannot be used at present.
type failure struct {
	ret  code
	what string
	err  error
}

// operation is a call that concerns the whole driver. There is at most one, for it may never return.
type operation struct {
	what  string
	began time.Time
	done  chan struct{}
	take  func() // what to make of its result, when it has one
}

// open sees to it that NVML is initialised, if it can be and it is time to try.
func (s *source) open(ctx context.Context, now time.Time) bool {
	s.settle()
	if s.pending != nil {
		return false
	}
	if s.session != nil {
		return true
	}
	hint := s.hint()
	if !s.backoff.due(now, hint) {
		return false
	}
	if s.lib == nil {
		lib, err := openLibrary(s.cfg.LibraryPath)
		if err != nil {
			ret := codeLibraryNotFound
			if errors.Is(err, errAnother) {
				ret = codeVersionMismatch
			}
			s.failed(now, hint, failure{ret: ret, what: "library", err: err})
			return false
		}
		s.lib = lib
	}
	var (
		session *session
		ret     code
	)
	s.start(ctx, "nvmlInit", func() { session, ret = openSession(s, s.lib) }, func() {
		if ret == codeOK {
			s.session = session
			s.backoff.succeeded()
			s.failure = failure{}
			return
		}
		s.failed(now, hint, failure{ret: ret, what: "driver", err: fmt.Errorf("nvml: initialise %s: %w", s.lib.path, ret)})
	})
	return s.session != nil
}

func (s *source) failed(now time.Time, hint string, f failure) {
	s.backoff.failed(now, hint)
	s.failure = f
}

// start runs an operation and waits for it as long as the context lasts.
func (s *source) start(ctx context.Context, what string, run, take func()) {
	op := &operation{what: what, began: s.opts.now(), done: make(chan struct{}), take: take}
	s.pending = op
	go func() {
		run()
		close(op.done)
		s.late()
	}()
	select {
	case <-op.done:
	case <-ctx.Done():
	}
	s.settle()
}

// settle takes the result of the pending operation, if it has one by now.
func (s *source) settle() {
	if op := s.pending; op != nil {
		select {
		case <-op.done:
			s.pending = nil
			op.take()
		default:
		}
	}
}

// lost takes note that the driver has gone, and lets counters start anew.
func (s *source) lost(ret code) {
	for _, b := range s.known() {
		b.anew.Store(true)
	}
	s.failure = failure{ret: ret, what: "driver", err: fmt.Errorf("nvml: the driver has gone: %w", ret)}
	s.results = s.results[:0]
}

// release shuts NVML down, unless a call on it has not returned. It tells whether it did.
func (s *source) release(ctx context.Context) bool {
	if s.session == nil || s.pending != nil || s.crew.outstanding.Load() > 0 {
		return false
	}
	session := s.session
	s.session = nil
	s.start(ctx, "nvmlShutdown", session.close, func() {})
	return true
}

func (s *source) hint() string { return hint(s.opts.procRoot, s.cfg.LibraryPath) }
