// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/processes"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/inventory"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// Option changes how a source works.
type Option func(*Source)

// WithClock sets the clock.
func WithClock(now func() time.Time) Option { return func(s *Source) { s.now = now } }

// WithHungAfter replaces how long a read of a GPU has been outstanding before the GPU counts as hung; negative means immediately. See
// workers.Pool.
func WithHungAfter(d time.Duration) Option { return func(s *Source) { s.pool.HungAfter = d } }

// Source reads the AMD GPUs of one machine. It implements gpu.Source.
type Source struct {
	cfg      Config
	want     gpu.Group
	now      func() time.Time
	decoder  *gpumetrics.Decoder
	readFile func(path string) ([]byte, error) // of GPUs; tests replace it to inject failures

	mu       sync.Mutex      // held by Read and Close
	closed   context.Context // ends with Close
	cancel   context.CancelFunc
	shutDown sync.Once

	pool    workers.Pool
	scanner scanner
	readers []*reader // by address
	epoch   uint64    // of newly found GPUs: later than any epoch of a forgotten GPU
	known   inventory.Inventory[struct{}]
	drm     drmProcesses
	kfd     kfdProcesses
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
	s.scanner = newScanner(cfg.RootPath, &s.pool)
	s.drm.task, s.drm.reader = s.pool.NewTask(nil), processes.NewDRM(cfg.RootPath)
	s.kfd.task, s.kfd.reader = s.pool.NewTask(nil), processes.NewKFD(cfg.RootPath)
	return s, nil
}

// drmProcesses and kfdProcesses find the processes. All but the task belongs to the task while it runs.
type (
	drmProcesses struct {
		task   *workers.Task
		reader *processes.DRM
		usages []processes.Usage
		errs   []error
	}
	kfdProcesses struct {
		task   *workers.Task
		reader *processes.KFD
		usages []processes.KFDUsage
		err    error
	}
)
