// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package workers

import "sync"

// Outcome is what became of a task's job in the last Run that had one for it.
type Outcome int

const (
	// NotBegun means that Run returned before the job began, or that the task was retired. The task is free: it is not hung.
	NotBegun Outcome = iota
	// Done means that the call returned in time.
	Done
	// Hung means that a call was outstanding when Run returned, whether of that Run or of an earlier one.
	Hung
)

// Task is something on which at most one call may be outstanding. Tasks are made with Pool.NewTask.
type Task struct {
	pool *Pool
	free func()

	// These are guarded by the pool's mutex.
	busy    bool // queued or outstanding
	outcome Outcome
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
	return t.outcome
}

// Retire frees what the task holds, immediately or when its outstanding call returns. No further job of it begins.
func (t *Task) Retire() {
	t.pool.mu.Lock()
	t.retired = true
	busy := t.busy
	t.pool.mu.Unlock()
	if !busy {
		t.free()
	}
}
