// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/processes"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/workers"
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
	cfg      Config
	want     gpu.Group
	now      func() time.Time
	decoder  *gpumetrics.Decoder
	readFile func(path string) ([]byte, error) // of GPUs; tests put failures in its place

	mu       sync.Mutex      // held by Read and Close
	closed   context.Context // ends with Close
	cancel   context.CancelFunc
	shutDown sync.Once

	pool    workers.Pool
	scanner scanner
	readers []*reader // by address
	epoch   uint64    // of GPUs that are found from now on: later than that of any GPU that was forgotten
	known   inventory.Inventory[struct{}]
	drm     drmProcesses
	kfd     kfdProcesses
}

// scanner finds the GPUs.
type scanner struct {
	task   *workers.Task
	result *scan.Inventory // what the task leaves
	err    error           // likewise
	last   *scan.Inventory // of the last scan that ended; nil: none has
}

var _ gpu.Source = (*Source)(nil)

// New returns a source that reads the quantities that are wanted. It reads nothing yet.
func New(cfg Config, want gpu.Group, opts ...Option) (*Source, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	cfg.RootPath = filepath.Clean(cfg.RootPath)
	s := &Source{cfg: cfg, want: want, now: time.Now, decoder: gpumetrics.NewDecoder(), readFile: sysfs.Read}
	for _, opt := range opts {
		opt(s)
	}
	s.closed, s.cancel = context.WithCancel(context.Background())
	s.scanner.task = s.pool.NewTask(nil)
	s.drm.task, s.drm.reader = s.pool.NewTask(nil), processes.NewDRM(cfg.RootPath)
	s.kfd.task = s.pool.NewTask(nil)
	return s, nil
}

// Read reads every GPU within the context's deadline, a tenth of which is left to hand the node on.
func (s *Source) Read(ctx context.Context) (*gpu.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Err() != nil {
		return nil, errClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limit := withoutDeadline
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) / 10 * 9
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.closed, cancel)()

	node := &gpu.Node{Vendor: gpu.AMD, Time: s.now()}
	for _, r := range s.readers {
		r.asked = false
	}
	if err := s.scan(ctx, node); err != nil {
		return nil, err
	}
	s.reconcile()
	s.pool.Run(ctx, append(s.readJobs(node.Time), s.processJobs(ctx, node.Time)...)...)
	if s.misplaced() {
		// The driver was loaded again since the scan.
		if err := s.scan(ctx, node); err != nil {
			return nil, err
		}
		s.reconcile()
		s.pool.Run(ctx, s.readJobs(node.Time)...)
	}
	if err := s.fileLimit(); err != nil {
		return nil, err
	}
	s.fill(node)
	if s.closed.Err() != nil {
		return nil, errClosed
	}
	return node, nil
}

// scan looks for GPUs. Where that does not end in time, those of the last scan are taken.
func (s *Source) scan(ctx context.Context, node *gpu.Node) error {
	c := &s.scanner
	s.pool.Run(ctx, workers.Job{Task: c.task, Func: func() { c.result, c.err = scan.Scan(s.cfg.RootPath) }})
	switch {
	case c.task.Outcome() == workers.Done && c.err != nil:
		return c.err
	case c.task.Outcome() == workers.Done:
		c.last = c.result
	case c.last == nil:
		return fmt.Errorf("amdgpu: %s: nothing could be read in time", filepath.Join(s.cfg.RootPath, "sys"))
	default:
		node.Problems = append(node.Problems, gpu.Problem{
			What: "inventory", Err: errors.New("amdgpu: the scan for GPUs did not end in time; the GPUs of the last scan are read"),
		})
	}
	return nil
}

// Close frees what the source holds. It does not wait for what hangs.
func (s *Source) Close() error {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutDown.Do(func() { s.pool.Close(func() {}) })
	return nil
}
