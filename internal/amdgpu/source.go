// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// withoutDeadline bounds a read whose context has no deadline.
const withoutDeadline = 10 * time.Second

var errClosed = errors.New("amdgpu: the source is closed")

// Option changes how a source works.
type Option func(*Source)

// WithClock sets the clock.
func WithClock(now func() time.Time) Option { return func(s *Source) { s.now = now } }

// Source reads the AMD GPUs of one machine. It implements gpu.Source.
type Source struct {
	cfg    Config
	want   gpu.Group
	now    func() time.Time
	decode *decoder
	access accessFunc

	sweep    sweep
	scanner  *scanner
	scanTask *task
	scanned  *inventory // what the scan leaves
	inv      *inventory // as of the last scan that ended
	boards   []*board   // by address
	epoch    uint64     // of GPUs that are found now: later than any of a GPU that was handed over
	procs    *processReader
	kfd      *kfdReader
	uses     []use
	tasks    []*task
	node     gpu.Node

	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex // held by Read and Close
}

var _ gpu.Source = (*Source)(nil)

// New returns a source that reads the quantities that are wanted. It reads nothing yet.
func New(cfg Config, want gpu.Group, opts ...Option) (*Source, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	cfg.RootPath = filepath.Clean(cfg.RootPath)
	s := &Source{cfg: cfg, want: want, now: time.Now, decode: newDecoder(), access: (*dir).read, closed: make(chan struct{})}
	for _, opt := range opts {
		opt(s)
	}
	s.scanner = newScanner(cfg.RootPath)
	s.scanTask = &task{run: func() { s.scanned = s.scanner.scan() }}
	s.procs = newProcessReader(cfg.RootPath, want)
	s.kfd = newKFDReader(cfg.RootPath, want)
	return s, nil
}

// Read reads every GPU within the context's deadline, a tenth of which is left to hand the node on. The node is valid until
// the next Read.
func (s *Source) Read(ctx context.Context) (*gpu.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil, errClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	began := s.now()
	limit := withoutDeadline
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) / 10 * 9
	}
	end := time.Now().Add(limit)
	s.begin(began)
	round := s.sweep.do(ctx.Done(), s.closed, limit, s.scanTask)
	if s.scanTask.ended(round) {
		if err := s.scanned.starved; err != nil {
			return nil, err
		}
		s.inv = s.scanned
	} else {
		s.problem(gpu.ProblemQuantity, "", "inventory", errors.New("amdgpu: looking for GPUs has not ended in time; what was seen last is taken"))
	}
	if s.inv == nil {
		return nil, fmt.Errorf("amdgpu: %s: nothing could be read in time", filepath.Join(s.cfg.RootPath, "sys"))
	}
	s.muster(began)
	round = s.sweep.do(ctx.Done(), s.closed, time.Until(end), s.tasks...)
	if s.astray(round) {
		s.scanner.again = true
		if again := s.sweep.do(ctx.Done(), s.closed, time.Until(end), s.scanTask); s.scanTask.ended(again) {
			if err := s.scanned.starved; err != nil {
				return nil, err
			}
			s.inv = s.scanned
			s.muster(began)
			s.tasks = slices.DeleteFunc(s.tasks, func(t *task) bool { return t.ended(round) && !s.gone(t) })
			s.sweep.do(ctx.Done(), s.closed, time.Until(end), s.tasks...)
		}
	}
	if err := s.starved(round); err != nil {
		return nil, err
	}
	s.compose(round)
	select {
	case <-s.closed:
		return nil, errClosed
	default:
		return &s.node, nil
	}
}

// Close frees what the source holds. It does not wait for what hangs.
func (s *Source) Close() error {
	s.once.Do(func() { close(s.closed) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.boards {
		b.task.retire()
	}
	s.boards = nil
	s.scanTask.retire()
	s.procs.task.retire()
	s.kfd.task.retire()
	return nil
}

func (s *Source) begin(now time.Time) {
	n := &s.node
	*n = gpu.Node{
		Vendor: gpu.AMD, Time: now,
		Devices: n.Devices[:0], Processes: n.Processes[:0], Problems: n.Problems[:0],
	}
}

func (s *Source) problem(kind gpu.ProblemKind, device, what string, err error) {
	s.node.Problems = append(s.node.Problems, gpu.Problem{Kind: kind, Device: device, What: what, Err: err})
}
