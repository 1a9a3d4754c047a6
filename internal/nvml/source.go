// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/device"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

const (
	defaultBudget = 10 * time.Second // of a read without a deadline
	maxMargin     = 250 * time.Millisecond
	closeBudget   = time.Second

	maxFetchBudget = time.Second // of the fetching of samples; less if reads are to be quick
)

// source reads NVIDIA's GPUs through NVML.
type source struct {
	cfg  Config
	want gpu.Group
	opts options

	closing context.Context // ends with Close
	cancel  context.CancelFunc

	mu       sync.Mutex // one Read, fetching of samples or Close at a time
	closed   bool
	freed    <-chan struct{} // after Close: closed when the driver is
	pool     workers.Pool
	driver   *driver
	gpus     knownGPUs
	xids     xids
	bus      *bus
	files    *driverFiles
	reopen   backoff.Backoff
	outcomes []outcome     // of the last read
	budget   time.Duration // of the last read
	timer    sampleTimer
	watch    eventWatch
	sleep    sleep
}

// New returns a source that reads what the groups need. It touches nothing until it is read.
func New(cfg *Config, want gpu.Group, opts ...Option) gpu.Source {
	s := &source{cfg: *cfg, want: want, opts: newOptions(opts)}
	s.files, s.bus = newDriverFiles(s.opts.patience), newBus(s.opts.sysRoot, s.opts.patience)
	s.bus.wake = cfg.WakeDevices
	s.gpus.cfg = device.Config{
		Want: want, Interval: s.opts.interval, PCIeSampling: cfg.PCIeSampling, Now: s.opts.now, NUMANode: s.bus.numaNode, MaySleep: s.maySleep,
	}
	if want.Has(gpu.GroupPeers) && cfg.KeepOpen { // the handles of a session are of no use in the next
		s.gpus.cfg.Peers = &device.Peers{}
	}
	s.pool.HungAfter = s.opts.hung
	s.driver = &driver{
		path: cfg.LibraryPath, machine: newDriverHint(s.opts.procRoot, cfg.LibraryPath, s.opts.patience),
		now: s.opts.now, pool: &s.pool, task: s.pool.NewTask(nil), begin: s.beginSession,
	}
	s.watch.period = pollPeriod
	s.closing, s.cancel = context.WithCancel(context.Background())
	return s
}

func (s *source) beginSession(lib *library.Library) (*session, library.Code) {
	return openSession(lib, &s.pool, &s.gpus, func(lib *library.Library) *events {
		if !s.want.Has(gpu.GroupEvents) || !s.cfg.KeepOpen {
			return nil
		}
		return newEvents(lib, &s.xids, s.opts.now)
	})
}

// errClosed is what a closed source returns.
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
	s.timer.stop()
	s.watch.stop()
	s.outcomes = nil
	now := s.opts.now()
	s.bus.scan(ctx, s.driver.session == nil)

	asleep := s.letSleep(now)
	if asleep {
		s.driver.keepClosed(ctx)
	}
	for range 2 {
		if asleep || !s.driver.open(ctx, now) {
			break
		}
		s.readGPUs(ctx, now)
		reason := driverGone(s.outcomes)
		if reason == library.OK && !s.driver.session.outdated() || !s.driver.close(ctx) {
			break // or a call has not returned: what was read is all there is
		}
		if reason != library.OK {
			s.driverGone(reason)
		}
	}
	if err := caller.Err(); errors.Is(err, context.Canceled) {
		return nil, err
	}
	if s.closing.Err() != nil {
		return nil, errClosed
	}
	node := &gpu.Node{Vendor: gpu.NVIDIA, Time: now}
	m := nodeMaker{
		ctx: caller, node: node, outcomes: s.outcomes, driver: s.driver, gpus: &s.gpus, xids: &s.xids, bus: s.bus, files: s.files,
		procRoot: s.opts.procRoot, reopen: &s.reopen, asleep: asleep,
	}
	idle := s.mayFallAsleep(now)
	switch closeDriver := m.make(now); {
	case idle, !s.cfg.KeepOpen:
		if s.driver.close(ctx) && idle {
			s.sleep.closed = now
			s.gpus.restarted() // the driver gives up what it knows of a GPU that nothing uses
		}
	case closeDriver:
		node.Problems = append(node.Problems, s.release(ctx, now)...)
	}
	s.startTimers()
	return node, nil
}

// budget is how long a read may wait: until shortly before its deadline, so that what was read is still delivered.
func budget(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return defaultBudget
	}
	remaining := time.Until(deadline)
	return remaining - min(remaining/10, maxMargin)
}

// readGPUs reads every GPU that is awake and on which no call of an earlier read is outstanding.
func (s *source) readGPUs(ctx context.Context, now time.Time) {
	handles := s.awake()
	s.pool.Run(ctx, s.driver.session.jobs(now, handles, (*handle).read)...)
	s.outcomes = nil
	for _, h := range handles {
		s.outcomes = append(s.outcomes, h.outcome())
	}
}

// driverGone returns why the whole driver is gone: a GPU found it so, and none was read. OK: it is not.
func driverGone(outcomes []outcome) library.Code {
	reason := library.OK
	for i := range outcomes {
		o := &outcomes[i]
		if o.result != nil {
			return library.OK
		}
		if !o.hung && o.code.Answer() == library.DriverGone {
			reason = o.code
		}
	}
	return reason
}

// driverGone notes that the driver is gone. It may be back within the same read, and then its counters have started again.
func (s *source) driverGone(code library.Code) {
	s.gpus.restarted()
	s.driver.setGone(code)
	s.outcomes = nil
}

// Close closes the driver. It waits a moment for calls that are about to return, and not for one that hangs: the driver is closed when that
// returns.
func (s *source) Close() error {
	s.cancel()
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.timer.stop()
		s.watch.stop()
		s.freed = s.pool.Close(s.free)
	}
	freed := s.freed
	s.mu.Unlock()
	patience := time.NewTimer(closeBudget)
	defer patience.Stop()
	select {
	case <-freed:
	case <-patience.C:
	}
	return nil
}

// startTimers has samples fetched before the driver overwrites them, and XIDs before the next read.
func (s *source) startTimers() {
	s.startWatch()
	if s.driver.session != nil && s.want.Has(gpu.GroupUtilization|gpu.GroupMediaUtilization|gpu.GroupProcessUtilization) {
		s.timer.start(samplePeriod(s.driver.session.sampleRing(), s.opts.interval), s.fetchSamples)
	}
}

// fetchSamples fetches samples and events between two reads. During a read there is no need to.
func (s *source) fetchSamples() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.closed || s.driver.session == nil || s.driver.pending != nil {
		return
	}
	// A read that comes meanwhile waits, and needs most of its time for itself.
	ctx, cancel := context.WithTimeout(s.closing, min(cmp.Or(s.opts.patience, maxFetchBudget), s.budget/4))
	defer cancel()
	s.pool.Run(ctx, s.driver.session.jobs(s.opts.now(), s.awake(), (*handle).fetchSamples)...)
	s.startTimers()
}

// free closes the driver when no call is outstanding any more.
func (s *source) free() {
	s.mu.Lock()
	s.driver.settle()
	session := s.driver.session
	s.driver.session = nil
	s.mu.Unlock()
	if session != nil {
		session.close()
	}
}
