// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	defaultBudget = 10 * time.Second // where a read is given no deadline
	mostMargin    = 250 * time.Millisecond
	drainBudget   = time.Second // at most; less where reads are to be quick
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
	file    struct {
		seen     time.Time
		replaced bool
	}
	again   backoff // of opening anew, because NVML does not show GPUs that the driver has
	crew    crew
	bus     pciBus
	files   *driverFiles
	xids    xids
	timer   *time.Timer // of the next drain
	node    gpu.Node
	results []result
	budget  time.Duration // of the last read
	epochs  uint64        // so many were given out; none twice, so that a GPU that is forgotten and comes back does not go on where it was

	boardsMu sync.Mutex
	boards   []*board // every GPU ever seen
}

// New returns a source that reads what the groups need. It touches nothing until it is read.
func New(cfg *Config, want gpu.Group, opts ...Option) gpu.Source {
	s := &source{cfg: *cfg, want: want, opts: newOptions(opts), files: newDriverFiles()}
	s.bus.root = s.opts.sysRoot
	s.closing, s.cancel = context.WithCancel(context.Background())
	s.crew.idle = s.late
	return s
}

// errClosed is what a closed source says to whoever reads it.
var errClosed = errors.New("nvml: the source was closed")

// Read reads all GPUs. See gpu.Source.
func (s *source) Read(ctx context.Context) (*gpu.Node, error) {
	caller, allowed := ctx, budget(ctx)
	ctx, cancel := context.WithTimeout(ctx, allowed)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.budget = allowed
	s.stopDrain()
	s.results = s.results[:0]
	now := s.opts.now()
	s.bus.look(now, s.session == nil)

	for range 2 {
		if !s.open(ctx, now) {
			break
		}
		s.sweep(ctx, now)
		gone := s.gone()
		if gone == codeOK && !s.session.outdated() || !s.release(ctx) {
			break // or a call has not returned: what was read is all there is
		}
		if gone != codeOK {
			s.lost(gone)
		}
	}
	if err := caller.Err(); errors.Is(err, context.Canceled) {
		return nil, err
	}
	if s.closing.Err() != nil {
		return nil, errClosed
	}
	if letGo := s.compose(caller, now); letGo || !s.cfg.KeepOpen {
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
	s.free()
	return nil
}

// free gives back the memory of the calls, which outlives sessions, once the source is closed and no call may write to it.
func (s *source) free() {
	if !s.closed || s.pending != nil || s.crew.outstanding.Load() > 0 {
		return
	}
	s.boardsMu.Lock()
	defer s.boardsMu.Unlock()
	for _, b := range s.boards {
		b.batch.free()
	}
}

// late runs when a call has come back, and makes up for what Close could not do as long as it had not.
func (s *source) late() {
	if s.closing.Err() == nil {
		return
	}
	s.mu.Lock()
	s.settle()
	var session *session
	if s.closed && s.pending == nil && s.crew.outstanding.Load() == 0 {
		session, s.session = s.session, nil
	}
	s.free()
	s.mu.Unlock()
	if session != nil {
		session.close()
	}
}
