// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"sync/atomic"
	"time"
)

// patience is how long tasks are left to one goroutine before those that wait get goroutines of their own: files that are
// answered at once are read by one goroutine, without a switch between them; slow ones side by side.
const patience = 2 * time.Millisecond

// The states of a task, and from queued on those of being queued for a round, each round its own: a worker that was held
// up in an earlier round must not take up a task of a later one.
const (
	idle uint64 = iota
	running
	dead
	queued
)

// task is work of which any run may never end, because the driver does not answer. At most one run of a task is
// outstanding.
type task struct {
	run     func()
	release func() // frees what the task holds, once, when it is retired and no run is outstanding

	state   atomic.Uint64
	round   atomic.Uint64 // of the last run that ended
	retired atomic.Bool
}

// ended tells whether a run of the task of this round or a later one has ended, and none is outstanding; only then what it
// wrote may be looked at.
func (t *task) ended(round uint64) bool { return t.round.Load() >= round && t.state.Load() == idle }

// retire frees what the task holds, now or when its outstanding run ends, if ever.
func (t *task) retire() {
	t.retired.Store(true)
	t.bury()
}

func (t *task) bury() {
	if t.retired.Load() && t.state.CompareAndSwap(idle, dead) && t.release != nil {
		t.release()
	}
}

func (t *task) work(round uint64) {
	if !t.state.CompareAndSwap(queued+round, running) {
		return
	}
	t.run()
	t.round.Store(round)
	t.state.Store(idle)
	t.bury()
}

// sweep runs tasks in rounds.
type sweep struct{ round uint64 }

// do runs those tasks that have no run outstanding, and returns the round when all have ended, when the time is over or
// when one of the channels is closed, whichever is first. A run that was not begun by then never is.
func (s *sweep) do(cancelled, closed <-chan struct{}, limit time.Duration, tasks ...*task) uint64 {
	s.round++
	round := s.round
	work := make([]*task, 0, len(tasks))
	for _, t := range tasks {
		if t.state.CompareAndSwap(idle, queued+round) {
			work = append(work, t)
		}
	}
	if len(work) == 0 {
		return round
	}
	var next, left atomic.Int64
	left.Store(int64(len(work)))
	done := make(chan struct{})
	worker := func() {
		for {
			i := next.Add(1) - 1
			if i >= int64(len(work)) {
				return
			}
			work[i].work(round)
			if left.Add(-1) == 0 {
				close(done)
			}
		}
	}
	go worker()
	began := time.Now()
	timer := time.NewTimer(min(patience, limit))
	defer timer.Stop()
	for {
		select {
		case <-done:
			return round
		case <-cancelled:
		case <-closed:
		case <-timer.C:
			if passed := time.Since(began); passed < limit {
				for n := len(work) - int(next.Load()); n > 0; n-- {
					go worker()
				}
				timer.Reset(limit - passed)
				continue
			}
		}
		for _, t := range work {
			if t.state.CompareAndSwap(queued+round, idle) {
				t.bury()
			}
		}
		return round
	}
}
