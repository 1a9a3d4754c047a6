// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package workers runs calls into drivers that may never return, and survives calls that do not.
//
// A source has one Pool. Each thing that may hang on its own (a GPU, the driver as a whole, a scan of the PCI bus) has a Task, on which
// at most one call is outstanding. A read calls Run with one Job for each task and looks at the outcomes:
//
//	pool.Run(ctx, jobs...)
//	if task.Outcome() == workers.Done {
//		// What the call wrote may be read until the next Run.
//	}
//
// A call that hangs keeps its goroutine, its task and whatever it writes to until it returns. Task.Retire and Pool.Close therefore take
// functions that free memory, descriptors and libraries: they run when nothing uses these any more, which may be never. Neither waits.
//
// Each calls a function for many items, such as processes, that are too many for a Task each.
//
// The pool does not recover panics: only the owner of a task knows what a panic damages, so the function of a Job recovers if the
// code that it calls may panic.
package workers

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// patience is how long one goroutine runs all jobs before each waiting job gets a goroutine of its own. So a driver that answers quickly
// costs one thread, and slow devices are queried in parallel.
const patience = time.Millisecond

// hungAfter is how long a call has been outstanding before it counts as hung. It does not depend on the time of a Run, which may be
// shorter than a healthy driver needs, and it is shorter than the default timeout: with that one, a call that hangs counts as hung in the
// first Run that leaves it.
const hungAfter = 5 * time.Second

// Pool runs the calls of one source. Run, Retire and Close are for one goroutine at a time. The zero Pool is ready for use.
type Pool struct {
	// HungAfter replaces, for tests, how long a call has been outstanding before it counts as hung; negative means immediately.
	HungAfter time.Duration

	mu          sync.Mutex
	outstanding int
	closed      bool
	free        func()
	freed       chan struct{}
}

// Outcome is what became of a task's job in the last Run that had one for it.
type Outcome int

const (
	// NotBegun means that Run returned before the job started, or that the task was retired. The task is free: it is not hung.
	NotBegun Outcome = iota
	// Done means that the call returned in time.
	Done
	// Late means that a call was outstanding when Run returned, but not for long: it may only be slow.
	Late
	// Hung means that a call was outstanding when Run returned, whether of that Run or of an earlier one, and has been for long.
	Hung
)

// Task is something on which at most one call may be outstanding. Tasks are made with Pool.NewTask.
type Task struct {
	pool *Pool
	free func()

	// These are guarded by the pool's mutex.
	busy    bool // queued or outstanding
	outcome Outcome
	start   time.Time // the last call
	retired bool
}

// NewTask returns a task of the pool. free, which may be nil, frees what calls on the task use. It runs once: after Retire, when no call
// is outstanding.
func (p *Pool) NewTask(free func()) *Task {
	if free == nil {
		free = func() {}
	}
	return &Task{pool: p, free: sync.OnceFunc(free)}
}

// Outcome returns what became of the task's last job. A call that returns after Run does not change it.
func (t *Task) Outcome() Outcome {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	if t.outcome == Hung && time.Since(t.start) < cmp.Or(t.pool.HungAfter, hungAfter) {
		return Late
	}
	return t.outcome
}

// Busy reports whether a call is queued or outstanding.
func (t *Task) Busy() bool {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	return t.busy
}

// Retire frees what the task holds, immediately or when its outstanding call returns. No further job of it starts.
func (t *Task) Retire() {
	t.pool.mu.Lock()
	t.retired = true
	busy := t.busy
	t.pool.mu.Unlock()
	if !busy {
		t.free()
	}
}

// Job is one call: Func runs on Task.
type Job struct {
	Task *Task
	Func func()
}

// round is one Run. Its fields are guarded by the pool's mutex.
type round struct {
	queue     []Job // not begun
	remaining int   // not ended
	ended     bool  // Run has returned: outcomes stay as they are
	done      chan struct{}
}

// Run starts the jobs whose tasks have no call outstanding. It returns when all have ended or when the context ends. A job that has not
// started by then never starts.
func (p *Pool) Run(ctx context.Context, jobs ...Job) {
	r := p.enqueue(ctx, jobs)
	if r.remaining == 0 {
		return
	}
	go p.work(r)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-timer.C:
			p.mu.Lock()
			for range r.queue {
				go p.work(r)
			}
			p.mu.Unlock()
		case <-ctx.Done():
			p.mu.Lock()
			for _, j := range r.queue {
				j.Task.busy = false
			}
			p.outstanding -= len(r.queue)
			r.queue, r.ended = nil, true
			p.mu.Unlock()
			return
		}
	}
}

func (p *Pool) enqueue(ctx context.Context, jobs []Job) *round {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &round{done: make(chan struct{})}
	for _, j := range jobs {
		switch t := j.Task; {
		case t.busy:
			t.outcome = Hung
		case t.retired || p.closed || ctx.Err() != nil:
			t.outcome = NotBegun
		default:
			t.busy, t.outcome = true, NotBegun
			r.queue = append(r.queue, j)
		}
	}
	r.remaining = len(r.queue)
	p.outstanding += r.remaining
	return r
}

// work runs jobs of a round until none are left.
func (p *Pool) work(r *round) {
	for {
		p.mu.Lock()
		if len(r.queue) == 0 {
			p.mu.Unlock()
			return
		}
		j := r.queue[0]
		r.queue = r.queue[1:]
		j.Task.outcome, j.Task.start = Hung, time.Now()
		p.mu.Unlock()

		j.Func()
		p.end(j.Task, r)
	}
}

// end takes note that a call has returned. What the task holds is freed before what the pool holds.
func (p *Pool) end(t *Task, r *round) {
	p.mu.Lock()
	t.busy = false
	if !r.ended {
		t.outcome = Done
	}
	retired := t.retired
	p.mu.Unlock()
	if retired {
		t.free()
	}
	p.mu.Lock()
	p.outstanding--
	if r.remaining--; r.remaining == 0 {
		close(r.done)
	}
	last := p.closed && p.outstanding == 0
	p.mu.Unlock()
	if last {
		p.finish()
	}
}

// Outstanding returns the number of calls that are queued or have not returned.
func (p *Pool) Outstanding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outstanding
}

// Close prevents further calls, and runs free in a goroutine as soon as no call is outstanding. It does not wait. The channel is closed
// when free has returned. Close must be called once.
func (p *Pool) Close(free func()) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.free, p.freed = true, free, make(chan struct{})
	if p.outstanding == 0 {
		go p.finish()
	}
	return p.freed
}

func (p *Pool) finish() {
	p.free()
	close(p.freed)
}
