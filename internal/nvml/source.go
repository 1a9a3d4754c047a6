// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	defaultBudget = 10 * time.Second // where a read is given no deadline
	mostMargin    = 250 * time.Millisecond
	drainBudget   = time.Second
	closeBudget   = time.Second
)

// source reads NVIDIA's GPUs through NVML.
type source struct {
	cfg  Config
	want gpu.Group
	opts options

	closing context.Context // ends with Close
	cancel  context.CancelFunc

	mu      sync.Mutex // one Read, drain or Close at a time
	closed  bool
	lib     *library
	session *session // nil: NVML is not initialised
	pending *operation
	backoff backoff // of opening
	failure failure // why there is no session
	again   backoff // of opening anew, because NVML does not show GPUs that the driver has
	crew    crew
	bus     pciBus
	xids    xids
	timer   *time.Timer // of the next drain
	node    gpu.Node
	results []result

	boardsMu sync.Mutex
	boards   []*board // every GPU ever seen
}

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

// New returns a source that reads what the groups need. It touches nothing until it is read.
func New(cfg *Config, want gpu.Group, opts ...Option) gpu.Source {
	s := &source{cfg: *cfg, want: want, opts: newOptions(opts)}
	s.bus.root = s.opts.sysRoot
	s.closing, s.cancel = context.WithCancel(context.Background())
	s.crew.idle = s.late
	return s
}

// errClosed is what a closed source says to whoever reads it.
var errClosed = errors.New("nvml: the source was closed")

// Read reads all GPUs. See gpu.Source.
func (s *source) Read(ctx context.Context) (*gpu.Node, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, budget(ctx))
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.stopDrain()
	s.results = s.results[:0]
	now := s.opts.now()
	s.bus.look(now, s.session == nil)

	for range 2 {
		if !s.open(ctx, now) {
			break
		}
		s.sweep(ctx, now)
		if gone := s.gone(); gone != codeOK {
			s.lost(ctx, gone)
		} else if s.session.outdated() {
			s.release(ctx)
		} else {
			break
		}
	}
	if err := caller.Err(); errors.Is(err, context.Canceled) {
		return nil, err
	}
	if s.closing.Err() != nil {
		return nil, errClosed
	}
	if letGo := s.compose(now); letGo || !s.cfg.KeepOpen {
		s.release(ctx)
	}
	s.scheduleDrain()
	return &s.node, nil
}

// budget is how long a read may wait: until shortly before its deadline, so that what was read is still delivered.
func budget(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return defaultBudget
	}
	left := time.Until(deadline)
	return left - min(left/10, mostMargin)
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
			s.failed(now, hint, failure{ret: codeLibraryNotFound, what: "library", err: err})
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

// result is what became of a slot in a read.
type result struct {
	slot *slot
	out  *reading
	ret  code
	hung bool
}

// sweep reads every GPU that is not still busy with an earlier read.
func (s *source) sweep(ctx context.Context, now time.Time) {
	s.results = s.results[:0]
	var ready []int // of the results
	for _, sl := range s.session.slots {
		r := result{slot: sl, hung: true}
		if sl.busy.CompareAndSwap(false, true) {
			ready = append(ready, len(s.results))
		}
		s.results = append(s.results, r)
	}
	n := len(ready)
	session := s.session
	if session.busy.CompareAndSwap(false, true) {
		n++
	}
	slots := make([]*slot, len(ready))
	for i, r := range ready {
		slots[i] = s.results[r].slot
	}
	begun, ended := s.crew.do(ctx, n, func(i int) {
		if i < len(slots) {
			slots[i].sweep(now)
		} else {
			session.look(now)
		}
	})
	for i, at := range ready {
		r := &s.results[at]
		switch {
		case i >= begun:
			r.slot.busy.Store(false)
		case ended[i].Load():
			r.hung = false
			r.out, r.ret = r.slot.out, r.slot.ret
		}
	}
	if begun < n && n > len(ready) {
		session.busy.Store(false)
	}
}

// gone tells whether the whole driver is gone: a GPU found it so, and none was read.
func (s *source) gone() code {
	gone := codeOK
	for i := range s.results {
		r := &s.results[i]
		if r.out != nil {
			return codeOK
		}
		if r.ret.answer() == driverGone {
			gone = r.ret
		}
	}
	return gone
}

// lost gives up a session whose driver has gone, and lets counters start anew.
func (s *source) lost(ctx context.Context, ret code) {
	for _, b := range s.known() {
		b.epoch++
		b.anew.Store(true)
	}
	s.failure = failure{ret: ret, what: "driver", err: fmt.Errorf("nvml: the driver has gone: %w", ret)}
	s.results = s.results[:0]
	s.release(ctx)
}

// release shuts NVML down, unless a call on it has not returned.
func (s *source) release(ctx context.Context) {
	if s.session == nil || s.pending != nil || s.crew.outstanding.Load() > 0 {
		return
	}
	session := s.session
	s.session = nil
	s.start(ctx, "nvmlShutdown", session.close, func() {})
}

// adopt returns the board of a UUID.
func (s *source) adopt(uuid string, lib *library) *board {
	s.boardsMu.Lock()
	defer s.boardsMu.Unlock()
	for _, b := range s.boards {
		if b.uuid == uuid {
			return b
		}
	}
	b := newBoard(s, lib, uuid)
	s.boards = append(s.boards, b)
	return b
}

// known returns the boards that are known by what they are.
func (s *source) known() []*board {
	s.boardsMu.Lock()
	defer s.boardsMu.Unlock()
	all := make([]*board, 0, len(s.boards))
	for _, b := range s.boards {
		if b.ident.Load() != nil {
			all = append(all, b)
		}
	}
	return all
}

// Close releases the driver. It waits a moment for calls that are about to return, and not for one that hangs.
func (s *source) Close() error {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stopDrain()
	ctx, cancel := context.WithTimeout(context.Background(), closeBudget)
	defer cancel()
	if s.pending != nil {
		select {
		case <-s.pending.done:
		case <-ctx.Done():
		}
		s.settle()
	}
	for s.crew.outstanding.Load() > 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	s.release(ctx)
	return nil
}

// late runs when a call has come back, and makes up for what Close could not do as long as it had not.
func (s *source) late() {
	if s.closing.Err() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if s.closed && s.session != nil && s.pending == nil && s.crew.outstanding.Load() == 0 {
		session := s.session
		s.session = nil
		session.close()
	}
}

func (s *source) hint() string { return hint(s.opts.procRoot, s.cfg.LibraryPath) }
