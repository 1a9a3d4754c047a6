// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

const (
	// pollPeriod is how often the driver is polled for XIDs between reads. A thread that waits in the driver would receive them sooner, but
	// some drivers spin while a program waits.
	pollPeriod = time.Second
	// askBudget bounds how long a read may have to wait for such a question.
	askBudget = 100 * time.Millisecond
)

// eventWatch polls the driver for XIDs between reads.
type eventWatch struct {
	report func([]gpu.Event) // nil if events between reads are not wanted
	period time.Duration
	timer  *time.Timer
}

func (w *eventWatch) start(poll func()) {
	if w.report != nil {
		w.timer = time.AfterFunc(w.period, poll)
	}
}

func (w *eventWatch) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// Watch implements gpu.Watcher.
func (s *source) Watch(report func([]gpu.Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.report = report
}

// startWatch polls the driver after a period, if it queues XIDs.
func (s *source) startWatch() {
	s.watch.stop()
	if s.driver.session != nil && s.driver.session.events != nil {
		s.watch.start(s.pollEvents)
	}
}

// pollEvents polls the driver for XIDs and reports them. During a read there is no need to.
func (s *source) pollEvents() {
	if !s.mu.TryLock() {
		return // the holder of the lock starts the watch again
	}
	defer s.mu.Unlock()
	if events := s.newEvents(); len(events) > 0 {
		s.watch.report(events) // under the lock: LastEvents must not come between
	}
}

// LastEvents implements gpu.Watcher.
func (s *source) LastEvents() []gpu.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.newEvents()
	s.watch.stop()
	return events
}

// newEvents asks the driver for XIDs if it is open, and returns those that were not handed on yet. It starts the watch again.
func (s *source) newEvents() []gpu.Event {
	if s.closed {
		return nil
	}
	if session := s.driver.session; session != nil && s.driver.pending == nil {
		ctx, cancel := context.WithTimeout(s.closing, cmp.Or(s.opts.patience, askBudget))
		defer cancel()
		now := s.opts.now()
		s.pool.Run(ctx, workers.Job{Task: session.task, Func: func() { session.takeEvents(now) }})
		s.startWatch()
	}
	return s.xids.take()
}

// release closes NVML, so that the GPUs that need it can be reset, and opens it again for the others: the driver queues XIDs only while a set of
// events is open. It returns the GPUs whose XIDs are not queued until the next read.
func (s *source) release(ctx context.Context, now time.Time) (unwatched []gpu.Problem) {
	watched := s.driver.session != nil && s.driver.session.events != nil
	if !s.driver.close(ctx) || !watched {
		return nil
	}
	working := map[int]*knownGPU{} // by index
	for i := range s.outcomes {
		switch o := &s.outcomes[i]; {
		case o.result == nil: // nothing of it is read
		case needsRelease(o.result):
			unwatched = append(unwatched, gpu.Problem{Device: o.gpu.UUID(), What: "events", Err: errReleased})
		default:
			working[o.handle.index] = o.gpu
		}
	}
	if len(working) == 0 {
		return unwatched
	}
	var handles []*handle
	if s.driver.open(ctx, now) {
		if handles = s.driver.session.handles; len(handles) != len(s.outcomes) { // which index is which GPU's is not known
			s.driver.close(ctx)
			handles = nil
		}
	}
	var jobs []workers.Job
	for _, h := range handles {
		if working[h.index] != nil {
			jobs = append(jobs, workers.Job{Task: h.task, Func: func() { h.open(now) }})
		}
	}
	s.pool.Run(ctx, jobs...)
	for _, h := range handles {
		if h.task.Outcome() == workers.Done && h.watched {
			delete(working, h.index)
		}
	}
	for _, index := range slices.Sorted(maps.Keys(working)) {
		unwatched = append(unwatched, gpu.Problem{Device: working[index].UUID(), What: "events", Err: errNotReopened})
	}
	return unwatched
}
